# SPDX-License-Identifier: MIT
"""python_api - ref/python.md: the public names of the package sherwood with their docstrings."""

import ast
import inspect

from text import ROOT, escaped, head, paragraphs

PACKAGE = ROOT / "client" / "python" / "src" / "sherwood"
ADAPTERS = ("torch", "jax", "torchrec", "dynamicemb", "datajuicer")  # modules that the package itself does not import


def definitions():
    """{name: its node} of all classes and functions of the package, and the names of __all__ by their own name."""
    nodes = {}
    for path in sorted(PACKAGE.glob("_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                nodes.setdefault(node.name, node)
    package = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    public = {(alias.asname or alias.name): alias.name for node in package.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    return nodes, {name: own for name, own in public.items() if not name.startswith("_")}


def signature(node):
    """The call as a program writes it: without self and private arguments."""
    arguments = node.args
    arguments.args = [argument for argument in arguments.args if argument.arg not in ("self", "cls")]
    public = [(argument, default) for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if not argument.arg.startswith("_")]
    arguments.kwonlyargs, arguments.kw_defaults = [argument for argument, _ in public], [default for _, default in public]
    return f"{node.name}({ast.unparse(arguments)})"


def doc(node):
    return paragraphs(inspect.cleandoc(ast.get_docstring(node) or ""))


def methods(node, nodes):
    """The public methods of a class and of its bases in the package: its own first."""
    found = {}
    for owner in [node, *(nodes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in nodes)]:
        below = {item.name: item for item in owner.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))} if owner is node \
            else methods(owner, nodes)
        for name, item in below.items():
            if not name.startswith("_"):
                found.setdefault(name, item)
    return found


def page(_build):
    nodes, public = definitions()
    lines = head("Python: the package sherwood", "the docstrings of client/python/src/sherwood",
                 "[Calls by task](../python.md) shows each call in use, and its examples run in CI. The\n"
                 "[tutorial](../tutorial.md) goes through one program. This page has every public name.")
    for module in ADAPTERS:
        own = {node.name: node for node in ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8")).body
               if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")}
        nodes |= {f"{module}.{name}": node for name, node in own.items()}  # two modules have a Table
        public |= {f"{module}.{name}": f"{module}.{name}" for name in own}
    for title, kind in (("Functions", ast.FunctionDef), ("Classes", ast.ClassDef)):
        lines += [f"## {title}", ""]
        for name, own in public.items():
            node = nodes.get(own)
            if not isinstance(node, kind):
                continue
            lines += [f"### sherwood.{escaped(name)}", ""]
            if kind is ast.FunctionDef:
                lines += ["```python", signature(node).replace(f"{node.name}(", f"{name}(", 1), "```", ""]
            lines += [*doc(node), ""]
            if kind is not ast.ClassDef:
                continue
            for method, item in methods(node, nodes).items():
                is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in item.decorator_list)
                lines += [f"#### {escaped(name)}.{escaped(method)}", "", "```python", method if is_property else signature(item), "```", "", *doc(item), ""]
    return lines
