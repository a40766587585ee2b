"""What all operators do: options to words, spark-submit, the result file to XCom."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    Asset,
    BaseOperator,
    Context,
    mask_secret,
)
from airflow.sdk.definitions.asset import AssetRef

from airflow_provider_pyhudi.hooks.hudi import HudiHook
from airflow_provider_pyhudi.hooks.lake import StorageAccess
from airflow_provider_pyhudi.hooks.submit import HudiSparkSubmitHook
from airflow_provider_pyhudi.operators.named_run import NamedRun
from airflow_provider_pyhudi.operators.result_file import ResultFile
from spark_jobs.options import JobOptions, JobResult, JobState, OptionsError
from spark_jobs.options.private_values import DELIVERED, write_options_file
from spark_jobs.options.secrets import can_be_hidden, secret_values

if TYPE_CHECKING:
    import jinja2

_ATTRIBUTES = {"dry_run": "job_dry_run"}
"""Options whose attribute of an operator has another name, because Airflow's own operators use it."""
_WAITS = ("spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion")
"""Without which spark-submit ends before its driver."""


class HudiJobOperator(BaseOperator):
    """Submit one job of this project and hand its result on.

    The arguments up to ``debug`` are those of :class:`~spark_jobs.options.JobOptions`, and those from ``conf`` to
    ``env_vars`` are spark-submit's. The result (:class:`~spark_jobs.options.JobResult` as a dictionary) is the return
    value, and each of its fields an XCom of its own, so that ``schedule.output["instant"]`` is the instant alone.

    :param hudi_conn_id: a connection of type ``hudi``: relative base paths are joined to its own, and its
        ``hoodie_conf`` and storage options hold where the task gives no value of its own.
    :param storage_conn_id: a connection by which storage is reached (``aws``, ``google_cloud_platform``, ``wasb``,
        ``adls``, ``hdfs``), in the place of the storage options of ``hudi_conn_id``; ``storage_options`` are over it.
    :param spark_conn_id: a connection of type ``spark``, which has to be there; without it, that of ``hudi_conn_id``,
        else ``spark_default``, else ``local[*]``.
    :param spark_binary: path of spark-submit, if it is not to be found by SPARK_HOME or the installed PySpark.
    :param application: path or URL of the job's file, if it is not to be the installed one.
    :param ship_code: whether the installed packages ``pyhudi`` and ``spark_jobs`` go to driver and executors by
        ``--py-files``; without it they do where the master is a cluster and no ``application`` is given.
    :param submit_arguments: further arguments of the Spark provider's ``SparkSubmitHook``.
    :param kill_grace_seconds: seconds that a killed job has to end by itself.
    :param skip_on_nothing_to_do: whether the task is skipped, not done, when there was nothing to do.
    """

    options_type: ClassVar[type[JobOptions]] = JobOptions
    template_fields: Sequence[str] = (
        "base_path",
        "table_name",
        "props",
        "hoodie_conf",
        "job_dry_run",
        "result_file",
        "storage_options",
        "conf",
        "packages",
        "jars",
        "files",
        "py_files",
        "env_vars",
        "application",
        "name",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        "hoodie_conf": "json",
        "storage_options": "json",
        "conf": "json",
        "env_vars": "json",
    }
    ui_color = "#d5ecf7"

    def __init__(
        self,
        *,
        base_path: str,
        table_name: str | None = None,
        props: str | None = None,
        hoodie_conf: Mapping[str, Any] | None = None,
        dry_run: bool | str = False,
        result_file: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        debug: bool = False,
        conf: dict[str, Any] | None = None,
        packages: str | None = None,
        jars: str | None = None,
        files: str | None = None,
        py_files: str | None = None,
        driver_memory: str | None = None,
        executor_memory: str | None = None,
        executor_cores: int | None = None,
        num_executors: int | None = None,
        deploy_mode: str | None = None,
        env_vars: dict[str, str] | None = None,
        name: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        spark_conn_id: str | None = None,
        spark_binary: str | None = None,
        application: str | None = None,
        ship_code: bool | None = None,
        submit_arguments: dict[str, Any] | None = None,
        kill_grace_seconds: float = 30.0,
        skip_on_nothing_to_do: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", kwargs.get("do_xcom_push", True))
        super().__init__(**kwargs)
        self.base_path = base_path
        self.table_name = table_name
        self.props = props
        self.hoodie_conf = hoodie_conf
        self.job_dry_run = dry_run
        self.result_file = result_file
        self.storage_options = storage_options
        self.debug = debug
        self.conf = conf
        self.packages = packages
        self.jars = jars
        self.files = files
        self.py_files = py_files
        self.driver_memory = driver_memory
        self.executor_memory = executor_memory
        self.executor_cores = executor_cores
        self.num_executors = num_executors
        self.deploy_mode = deploy_mode
        self.env_vars = env_vars
        self.name = name
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.spark_conn_id = spark_conn_id
        self.spark_binary = spark_binary
        self.application = application
        self.ship_code = ship_code
        self.submit_arguments = submit_arguments
        self.kill_grace_seconds = kill_grace_seconds
        self.skip_on_nothing_to_do = skip_on_nothing_to_do
        self._hook: HudiSparkSubmitHook | None = None
        self._killed = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job.

        :raises AirflowFailException: its options are not valid; a retry would change nothing.
        :raises AirflowException: it failed or was killed.
        :raises AirflowSkipException: there was nothing to do, and that is to be a skip.
        """
        with tempfile.TemporaryDirectory(prefix="pyhudi-") as folder:
            try:
                options = self.build_options(context)
                options = dataclasses.replace(options, result_file=options.result_file or f"{folder}/result.json")
                application = self.application or _installed(options.job)
            except OptionsError as error:
                raise AirflowFailException(f"{self.options_type.job}: {error}") from None
            _mask(options.secrets())
            self._mask_properties(options)
            options, run = NamedRun.of(options, self._access.lake, self.log.warning)
            self._hook = self._submit_hook(options, context)
            self._refuse_deployment(self._hook)
            self._hook.application_args = _words(options, folder, self._hook)
            if self._ships_code(self._hook):
                self._hook.bring_code(_code_archive(folder))
            if self._killed:
                raise AirflowException(f"{options.job} was killed before it began")
            left = ResultFile(location=str(options.result_file), access=self._access).from_now()
            self._hook.submit(application, told=left.failure if self._hook.driver_is_remote else lambda: None)
            result = left.result()
        self._report(result, context)
        if run:
            run.hand_back(self, result)
        return result.to_dict()

    def render_template_fields(self, context: Context, jinja_env: jinja2.Environment | None = None) -> None:
        """Render them, and have their secrets masked before Airflow shows them."""
        super().render_template_fields(context, jinja_env)
        for name in self.template_fields:
            _mask(secret_values(_texts_in(name, getattr(self, name, None))))

    def on_kill(self) -> None:
        """End the job with the task."""
        self._killed = True
        if self._hook is not None:
            self._hook.on_kill()

    def build_options(self, context: Context) -> JobOptions:
        """The job's options from the rendered arguments.

        :raises OptionsError: one is not valid.
        """
        names = [field.name for field in dataclasses.fields(self.options_type)]
        values = {name: getattr(self, _ATTRIBUTES.get(name, name)) for name in names}
        hudi = self._hudi_hook
        if hudi:
            values["base_path"] = hudi.base_path_of(self.base_path)
            values["hoodie_conf"] = {**self._of_connection(hudi), **dict(self.hoodie_conf or {})}
        values["storage_options"] = self._access.options()
        values.update(self.job_values(context))
        return self.options_type(**values)

    def job_values(self, context: Context) -> dict[str, Any]:
        """Values of options that this kind of job does not take as they were given."""
        return {}

    def packages_for(self, options: JobOptions) -> str | None:
        """The Maven packages that spark-submit is to fetch."""
        return self.packages

    def _of_connection(self, hudi: HudiHook) -> dict[str, str]:
        """The connection's ``hoodie.*`` values but for those that the task's file of properties has; all of them where
        the driver alone can see that file.
        """
        known = hudi.hoodie_conf
        try:
            own = self._properties(self.props) if self.props and known else {}
        except OptionsError as error:
            self.log.warning("%s; the values of connection %s win over it", error, self.hudi_conn_id)
            own = {}
        return {key: value for key, value in known.items() if key not in own}

    def _mask_properties(self, options: JobOptions) -> None:
        """Those of a file on another storage: the options see that of this machine alone."""
        from spark_jobs.engine.properties_file import is_elsewhere

        if options.props and is_elsewhere(options.props):
            with suppress(OptionsError):  # the job reports it
                _mask(secret_values(self._properties(options.props).items()))

    def _properties(self, location: str) -> dict[str, str]:
        from spark_jobs.engine.properties_file import properties_in

        return properties_in(self._access.lake(), location)

    @cached_property
    def _access(self) -> StorageAccess:
        return StorageAccess(
            hudi_conn_id=self.hudi_conn_id,
            storage_conn_id=self.storage_conn_id,
            own=self.storage_options or {},
            settings=self.conf or {},
        )

    @cached_property
    def _hudi_hook(self) -> HudiHook | None:
        return HudiHook(self.hudi_conn_id) if self.hudi_conn_id else None

    def _submit_hook(self, options: JobOptions, context: Context) -> HudiSparkSubmitHook:
        spark_conn_id = self.spark_conn_id or (self._hudi_hook.spark_conn_id if self._hudi_hook else None)
        return HudiSparkSubmitHook(
            job=options.job,
            kill_grace_seconds=self.kill_grace_seconds,
            conn_id=spark_conn_id or None,
            conf=self.conf,
            packages=self.packages_for(options),
            jars=self.jars,
            files=self.files,
            py_files=self.py_files,
            driver_memory=self.driver_memory,
            executor_memory=self.executor_memory,
            executor_cores=self.executor_cores,
            num_executors=self.num_executors,
            deploy_mode=self.deploy_mode,
            env_vars=self.env_vars,
            name=self.name or f"{context['ti'].dag_id}.{context['ti'].task_id}",
            spark_binary=self.spark_binary,
            **(self.submit_arguments or {}),
        )

    def _refuse_deployment(self, hook: HudiSparkSubmitHook) -> None:
        """
        :raises AirflowFailException: the cluster can't run the driver, or nobody would learn its result.
        """
        if not hook.driver_is_remote:
            return
        if hook.master.startswith("spark://"):
            raise AirflowFailException(
                f"deploy_mode cluster is not for Python jobs on a standalone master ({hook.master}): give client"
            )
        if hook.master_is_local:
            raise AirflowFailException(
                f"deploy_mode cluster needs a cluster, and the master is {hook.master}: give client"
            )
        if not self.result_file:
            raise AirflowFailException("deploy_mode cluster needs result_file: give a URL that both sides reach")
        for key in _WAITS:
            if str((self.conf or {}).get(key, "true")).lower() == "false":
                raise AirflowFailException(f"{key}=false lets the task end before its job: leave it out")

    def _ships_code(self, hook: HudiSparkSubmitHook) -> bool:
        if self.ship_code is not None:
            return self.ship_code
        return not hook.master_is_local and not self.application

    def _report(self, result: JobResult, context: Context) -> None:
        self.log.info("%s %s at instant %s", result.action, result.state, result.instant)
        if result.repeated:
            self.log.info("Nothing was written, an earlier run did this: %s", result.reason)
        if not _is_news(result):
            # Airflow makes an event for each asset that the running task has when it ends, named or referred to
            self.outlets = [outlet for outlet in self.outlets if not isinstance(outlet, Asset | AssetRef)]
        if result.state is JobState.NOTHING_TO_DO:
            self.log.info("Nothing to do: %s", result.reason)
            if self.skip_on_nothing_to_do:
                raise AirflowSkipException(f"Nothing to do: {result.reason}")
        for outlet in self.outlets:
            if isinstance(outlet, Asset):
                context["outlet_events"][outlet].extra.update(_event_of(result))


def _is_news(result: JobResult) -> bool:
    """Whether the table changed by this task: now, or by a try of the same generation, which had not succeeded."""
    if result.state in (JobState.NOTHING_TO_DO, JobState.DRY_RUN):
        return False
    return not result.repeated or "generation" in result.extra


def _event_of(result: JobResult) -> dict[str, Any]:
    """What an asset's event says of the change."""
    said: dict[str, Any] = {one: result.extra[one] for one in ("operation", "partitions") if one in result.extra}
    counts: dict[str, Any] = {name: getattr(result, name) for name in ("records_out", "inserts", "updates", "deletes")}
    return {"instant": result.instant, "action": result.action, **counts, **said}


def given_instant(instant: str | None) -> str | None:
    """None for what a template makes of the instant of a task that had nothing to do."""
    return None if instant in (None, "", "None") else instant


def _installed(job: str) -> str:
    spec = find_spec("spark_jobs")
    folder = next(iter(spec.submodule_search_locations or []), None) if spec else None
    path = Path(folder or ".", f"{job}.py")
    if not path.is_file():
        raise OptionsError(f"{path} is missing: install airflow-provider-pyhudi beside Airflow, or give application")
    return str(path)


def _texts_in(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The texts of an argument, each with the name that it has there."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts_in(str(key), part)
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _texts_in(name, part)


def _mask(values: Iterable[str]) -> None:
    """Have Airflow show these in no log and no rendered field; it leaves very short ones alone."""
    for value in filter(can_be_hidden, values):
        mask_secret(value)


def _words(options: JobOptions, folder: str, hook: HudiSparkSubmitHook) -> list[str]:
    """The job's command line; what may be secret goes into a file that this user alone can read, beside the result."""
    values = options.private_values()
    if not values:
        return options.to_args()
    path = f"{folder}/{DELIVERED}"
    write_options_file(path, values)
    if not hook.driver_is_remote:
        return options.to_args(path)
    hook.bring_file(path)  # to the folder in which the driver runs
    return options.to_args(DELIVERED)


def _code_archive(folder: str) -> str:
    from spark_jobs.core.errors import HudiError
    from spark_jobs.engine.code_archive import cached_code_archive

    try:
        return str(cached_code_archive(Path(folder)))
    except HudiError as error:
        raise AirflowFailException(str(error)) from None
