"""A cluster of YARN on this machine: a ResourceManager and two NodeManagers in one JVM, over the local disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaGateway

from scripts.real_hudi_env import java
from tests.support.hadoop import hadoop_jars

_SETTINGS = {
    "yarn.nodemanager.resource.memory-mb": "3072",
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    # a machine of tests may have a disk that is nearly full, and little memory
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
}
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED")
_MS_TO_CONNECT = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnCluster:
    """``settings`` is the folder that ``HADOOP_CONF_DIR`` names; what containers print is below ``folder``."""

    settings: Path
    folder: Path


@contextmanager
def yarn_cluster(folder: Path, nodes: int = 2) -> Iterator[YarnCluster]:
    """Gone at the end, or when this process ends."""
    settings = folder / "conf"
    settings.mkdir(parents=True)
    spark = Path(pyspark.__file__).parent / "jars"
    (py4j,) = spark.glob("py4j-*.jar")
    with open(folder / "cluster.log", "w") as log:
        gateway = JavaGateway.launch_gateway(
            jarpath=str(py4j),
            classpath=os.pathsep.join(hadoop_jars()),
            javaopts=list(_JVM),
            java_path=java(),
            cwd=str(folder),
            redirect_stdout=log,
            redirect_stderr=log,
            die_on_exit=True,
        )
        try:
            cluster = _started(gateway.jvm, nodes)
            out = gateway.jvm.java.io.FileOutputStream(str(settings / "yarn-site.xml"))
            cluster.getConfig().writeXml(out)
            out.close()
            yield YarnCluster(settings=settings, folder=folder)
        finally:
            gateway.shutdown()
            gateway.java_process.kill()
            gateway.java_process.wait()


def _started(jvm: Any, nodes: int) -> Any:
    conf = jvm.org.apache.hadoop.yarn.conf.YarnConfiguration()
    for name, value in _SETTINGS.items():
        conf.set(name, value)
    cluster = jvm.org.apache.hadoop.yarn.server.MiniYARNCluster("yarn", nodes, 1, 1)
    cluster.init(conf)
    cluster.start()
    assert cluster.waitForNodeManagersToConnect(_MS_TO_CONNECT)
    return cluster
