"""Items of DynamoDB by boto3, each change on a condition. boto3 is imported when it is used: it wants an older
python-dateutil than others, so that not every environment of this project can have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys.lock import BillingMode
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.dynamodb import KEY, LEASE, OWNER, VERSION, DynamoConnection
from spark_jobs.core.locks.dynamodb_settings import DynamoSettings

T = TypeVar("T")
_FREE = "attribute_not_exists(#key)"
_UNCHANGED = "attribute_exists(#key) AND #version = :version"
_OWN = "attribute_exists(#key) AND #owner = :owner"
_POLL_SECONDS = 0.5
_LONGEST_ANSWER_SECONDS = 10.0
_TRIES = 3


class DynamoItems:
    """The item of the settings' key. The table is made where there is none, as Hudi does. Credentials come as boto3
    finds them. Threads share one client, as boto3 allows.
    """

    def __init__(self, settings: DynamoSettings, clock: Clock) -> None:
        """
        :raises LockNotAcquiredError: no server answers, it refuses, or a table that was made does not serve in time.
        """
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        self._settings = settings
        self._clock = clock
        self._errors: tuple[type[Exception], ...] = (BotoCoreError, ClientError)
        answer_s = min(max(settings.lease_ms / 3000, 1.0), _LONGEST_ANSWER_SECONDS)
        try:
            self._client: Any = boto3.session.Session().client(
                "dynamodb",
                region_name=settings.region,
                endpoint_url=settings.endpoint or None,
                config=Config(connect_timeout=answer_s, read_timeout=answer_s, retries={"total_max_attempts": _TRIES}),
            )
        except (*self._errors, ValueError) as error:
            raise self._refused(error) from error
        self._ensure_table()

    def get(self) -> dict[str, str] | None:
        found = self._ask(
            lambda: self._client.get_item(TableName=self._settings.table, Key=self._key(), ConsistentRead=True)
        ).get("Item")
        return None if found is None else {name: str(value.get("S", "")) for name, value in found.items()}

    def put(self, item: Mapping[str, str], version: str | None) -> bool:
        if version is None:
            return self._change(
                self._client.put_item,
                Item=_typed(item),
                ConditionExpression=_FREE,
                ExpressionAttributeNames={"#key": KEY},
            )
        return self._change(
            self._client.put_item,
            Item=_typed(item),
            ConditionExpression=_UNCHANGED,
            ExpressionAttributeNames={"#key": KEY, "#version": VERSION},
            ExpressionAttributeValues=_typed({":version": version}),
        )

    def renew(self, owner: str, lease_ms: int, version: str) -> bool:
        return self._change(
            self._client.update_item,
            Key=self._key(),
            UpdateExpression="SET #lease = :lease, #version = :version",
            ConditionExpression=_OWN,
            ExpressionAttributeNames={"#key": KEY, "#owner": OWNER, "#lease": LEASE, "#version": VERSION},
            ExpressionAttributeValues=_typed({":owner": owner, ":lease": str(lease_ms), ":version": version}),
        )

    def delete(self, owner: str) -> bool:
        return self._change(
            self._client.delete_item,
            Key=self._key(),
            ConditionExpression=_OWN,
            ExpressionAttributeNames={"#key": KEY, "#owner": OWNER},
            ExpressionAttributeValues=_typed({":owner": owner}),
        )

    def close(self) -> None:
        with suppress(Exception):
            self._client.close()

    def _key(self) -> dict[str, dict[str, str]]:
        return _typed({KEY: self._settings.key})

    def _ensure_table(self) -> None:
        deadline = self._clock.monotonic() + self._settings.creation_ms / 1000
        while (status := self._status()) not in ("ACTIVE", "UPDATING"):
            if not status:
                self._make_table()
            elif self._clock.monotonic() >= deadline:
                raise LockNotAcquiredError(
                    f"DynamoDB's table {self._settings.table} is {status} after {self._settings.creation_ms} ms",
                    todo="run it again later",
                    table=self._settings.table,
                )
            self._clock.sleep(_POLL_SECONDS)

    def _status(self) -> str:
        """Empty where there is no table."""
        try:
            found = self._client.describe_table(TableName=self._settings.table)
        except self._client.exceptions.ResourceNotFoundException:
            return ""
        except self._errors as error:
            raise self._refused(error) from error
        return str(found["Table"]["TableStatus"])

    def _make_table(self) -> None:
        units: dict[str, Any] = {}
        if self._settings.billing is BillingMode.PROVISIONED:
            read, write = self._settings.read_capacity, self._settings.write_capacity
            units = {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}
        with suppress(self._client.exceptions.ResourceInUseException):  # another was faster
            self._ask(
                lambda: self._client.create_table(
                    TableName=self._settings.table,
                    KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
                    BillingMode=self._settings.billing.value,
                    **units,
                )
            )

    def _change(self, call: Callable[..., Any], **arguments: Any) -> bool:
        """Whether the condition held."""
        try:
            self._ask(lambda: call(TableName=self._settings.table, **arguments))
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def _ask(self, call: Callable[[], T]) -> T:
        """
        :raises LockNotAcquiredError: the server does not answer, or refuses.
        """
        known = self._client.exceptions
        try:
            return call()
        except (known.ConditionalCheckFailedException, known.ResourceInUseException):
            raise
        except self._errors as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> LockNotAcquiredError:
        return LockNotAcquiredError(
            f"DynamoDB in {self._settings.endpoint or self._settings.region} gives no lock "
            f"({' '.join(str(error).split())})",
            todo="correct the keys hoodie.write.lock.dynamodb.*, or the credentials of AWS in the environment",
            table=self._settings.table,
        )


def connect(settings: DynamoSettings, clock: Clock) -> DynamoConnection:
    """
    :raises LockNotAcquiredError: no server answers, or it refuses.
    """
    return DynamoConnection(settings, clock, DynamoItems(settings, clock))


def _typed(values: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {name: {"S": value} for name, value in values.items()}
