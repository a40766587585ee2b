"""Which keys real Hudi declares: the static ConfigProperty members of the classes in its bundle."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

PROPERTY = "org.apache.hudi.common.config.ConfigProperty"
_OTHERS = ("org/apache/hudi/org/", "org/apache/hudi/com/")
"""What the bundle holds of other projects."""


def declared_keys(jvm: Any) -> list[str]:
    """All keys and their other names, sorted. Classes that need another engine's library are left out."""
    found: set[str] = set()
    for name, _ in classes_that_declare(_bundle(jvm)):
        try:
            owner = jvm.java.lang.Class.forName(name)
            values = [*_of_fields(jvm, owner), *_of_methods(jvm, owner)]
        except Py4JJavaError:
            continue
        for declared in values:
            found |= {declared.key(), *declared.getAlternatives()}
    return sorted(found)


def _of_fields(jvm: Any, owner: Any) -> Iterator[Any]:
    for field in owner.getDeclaredFields():
        if field.getType().getName() == PROPERTY and jvm.java.lang.reflect.Modifier.isStatic(field.getModifiers()):
            field.setAccessible(True)
            yield field.get(None)


def _of_methods(jvm: Any, owner: Any) -> Iterator[Any]:
    """A Scala object has a static method without parameters for each of its values."""
    nothing = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)
    for method in owner.getDeclaredMethods():
        is_value = method.getReturnType().getName() == PROPERTY and not method.getParameterCount()
        if is_value and jvm.java.lang.reflect.Modifier.isStatic(method.getModifiers()):
            method.setAccessible(True)
            yield method.invoke(None, nothing)


def _bundle(jvm: Any) -> str:
    paths = jvm.java.lang.System.getProperty("java.class.path").split(":")
    return next(path for path in paths if "hudi-spark" in path and path.endswith(".jar"))


def classes_that_declare(bundle: str | Path) -> Iterator[tuple[str, bytes]]:
    """The classes of a jar that name ConfigProperty, each with its bytes."""
    wanted = PROPERTY.replace(".", "/").encode()
    with zipfile.ZipFile(bundle) as jar:
        for path in jar.namelist():
            if path.startswith("org/apache/hudi/") and not path.startswith(_OTHERS) and path.endswith(".class"):
                content = jar.read(path)
                if wanted in content:
                    yield path.removesuffix(".class").replace("/", "."), content
