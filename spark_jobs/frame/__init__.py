"""What all services have in common: no plan because, the hash of a plan, budgets, estimates, results."""
