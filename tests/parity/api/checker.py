"""Walk source files and check each use of `trt` and `cudart` against the real modules.

What a variable holds is known from annotations (`network: trt.INetworkDefinition`), from calls
(`builder = trt.Builder(log)`), and from what the bindings say that their functions return.

As a program: `python -m tests.parity.api.checker FILE...` prints the uses as JSON.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.parity.api.signatures import signatures
from tests.parity.api.values import Instance, Many, Method, Static, Value, annotated, returned

PARAMETERS = {"engine": "ICudaEngine"}
"""What parameters of these names are that are annotated as anything."""


class Checker(ast.NodeVisitor):
    """Follows one file after the other; `used` and `faults` grow."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self._modules = modules
        self._functions: dict[str, Value] = {}
        self._names: dict[str, Value] = {}
        self._file = ""
        self.used: set[str] = set()
        self.faults: list[str] = []

    def declare(self, tree: ast.Module) -> None:
        """Learn what our own functions return."""
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self._functions[node.name] = annotated(node.returns, self._modules)

    def check(self, name: str, tree: ast.Module) -> None:
        """Check all that a file uses."""
        self._file, self._names = name, {}
        self.visit(tree)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """What `self` has is known within the class only."""
        before = dict(self._names)
        self.generic_visit(node)
        self._names = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function's names are its own; what `self` has is its class's."""
        before = dict(self._names)
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            self._names[argument.arg] = self._parameter(argument)
        for statement in node.body:
            self.visit(statement)
        kept = {key: value for key, value in self._names.items() if key.startswith("self.")}
        self._names = {**before, **kept}

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """`x: trt.X = ...`; in a class's body it is what `self.x` is."""
        if node.value is not None:
            self._value(node.value)
        value = annotated(node.annotation, self._modules)
        self._names[ast.unparse(node.target)] = value
        if isinstance(node.target, ast.Name):
            self._names[f"self.{node.target.id}"] = value

    def visit_Assign(self, node: ast.Assign) -> None:
        """`x = ...`, `self.x = ...`, and `x, y = ..., ...`."""
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=True):
                    self._assign(name, self._value(value))
            else:
                self._assign(target, self._value(node.value))

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, node.iter)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> None:
        self._comprehension(node, node.elt)

    visit_GeneratorExp = visit_SetComp = visit_ListComp  # noqa: N815

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, node.key, node.value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._value(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._value(node)

    def visit_Name(self, node: ast.Name) -> None:
        """A name by itself is no use."""

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations are not run."""

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Attribute):
            self._value(target)
            self._names[ast.unparse(target)] = value
        else:
            self.visit(target)

    def _parameter(self, argument: ast.arg) -> Value:
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Any":
            kind = PARAMETERS.get(argument.arg)
            return Instance(getattr(self._modules["trt"], kind)) if kind else None
        return annotated(argument.annotation, self._modules)

    def _comprehension(self, node: Any, *results: ast.expr) -> None:
        for loop in node.generators:
            self._bind(loop.target, loop.iter)
            for condition in loop.ifs:
                self.visit(condition)
        for result in results:
            self.visit(result)

    def _bind(self, target: ast.expr, source: ast.expr) -> None:
        value = self._value(source)
        if isinstance(target, ast.Name):
            self._names[target.id] = Instance(value.kind) if isinstance(value, Many) else None

    def _value(self, node: ast.expr) -> Value:
        """What an expression stands for; checks it on the way."""
        if isinstance(node, ast.Name):
            module = self._modules.get(node.id)
            return self._names.get(node.id) if module is None else Static(module)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.List):
            kinds = []
            for element in node.elts:
                value = self._value(element.value if isinstance(element, ast.Starred) else element)
                if isinstance(value, Many | Instance):
                    kinds.append(value.kind)
            return Many(kinds[0]) if kinds else None
        if isinstance(node, ast.ListComp):
            self._comprehension(node)
            value = self._value(node.elt)
            return Many(value.kind) if isinstance(value, Instance) else None
        if isinstance(node, ast.Subscript):
            value = self._value(node.value)
            self.visit(node.slice)
            return Instance(value.kind) if isinstance(value, Many) else None
        self.generic_visit(node)
        return None

    def _attribute(self, node: ast.Attribute) -> Value:
        known = self._names.get(ast.unparse(node))
        base = self._value(node.value)
        if not isinstance(base, Static | Instance):
            return known
        owner = base.value if isinstance(base, Static) else base.kind
        name = f"{getattr(owner, '__name__', owner)}.{node.attr}"
        self.used.add(name)
        if not hasattr(owner, node.attr):
            self._fault(node, f"{name} does not exist")
            return None
        value = getattr(owner, node.attr)
        if isinstance(base, Static):
            return Static(value)
        return Method(base.kind, node.attr) if callable(value) else self._property(value)

    def _property(self, value: Any) -> Value:
        found = (getattr(value, "fget", None).__doc__ or "") if hasattr(value, "fget") else ""
        return returned(found.partition("-> ")[2].strip(), self._modules)

    def _call(self, node: ast.Call) -> Value:
        function = self._value(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword.value)
        if isinstance(function, Method):
            member = getattr(function.kind, function.name)
            return self._match(node, member, function.name, bound=True)
        if isinstance(function, Static) and isinstance(function.value, type):
            self._match(node, function.value.__init__, "__init__", bound=True)  # type: ignore[misc]
            return Instance(function.value)
        if isinstance(function, Static):
            return self._match(node, function.value, function.value.__name__, bound=False)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "hasattr" and isinstance(node.args[1], ast.Constant):
            self._value(ast.Attribute(node.args[0], str(node.args[1].value), lineno=node.lineno))
        return self._functions.get(name)

    def _match(self, node: ast.Call, function: Any, name: str, bound: bool) -> Value:
        """Check the arguments; returns what the call returns."""
        overloads = signatures(function, name, bound)
        keywords = [word.arg for word in node.keywords if word.arg is not None]
        spread = any(isinstance(argument, ast.Starred) for argument in node.args)
        if not overloads or spread or len(keywords) < len(node.keywords):
            return None
        reasons = [overload.refusal(len(node.args), keywords) for overload in overloads]
        if None in reasons:
            return returned(overloads[reasons.index(None)].returns, self._modules)
        self._fault(node, f"{ast.unparse(node.func)} {reasons[0]}")
        return None

    def _fault(self, node: ast.expr, what: str) -> None:
        self.faults.append(f"{self._file}:{node.lineno}: {what}")


def main(files: list[Path]) -> None:
    """Check the files and print what was found."""
    modules = {
        "trt": importlib.import_module("tensorrt_bindings"),
        "cudart": importlib.import_module("cuda.bindings.runtime"),
    }
    checker = Checker(modules)
    trees = {str(path): ast.parse(path.read_text(encoding="utf-8")) for path in files}
    for tree in trees.values():
        checker.declare(tree)
    for name, tree in trees.items():
        checker.check(name, tree)
    print(json.dumps({"used": sorted(checker.used), "faults": checker.faults}))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
