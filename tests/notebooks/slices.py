"""Find the statements that some cells of a notebook need: a backward slice by names.

A name is needed if a later statement reads it, also inside a function that it calls. If in doubt, a
statement is needed.
"""

import ast
import builtins
import symtable

BUILTINS = set(dir(builtins))


def symbols(node):
    """Return the names that a statement binds, and those that it reads, also in functions."""
    module = symtable.symtable(ast.unparse(node), "cell", "exec")
    bound = set()
    read = set()
    for symbol in module.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
        if symbol.is_referenced():
            read.add(symbol.get_name())
    tables = list(module.get_children())
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                read.add(symbol.get_name())
    return bound, read - BUILTINS


def names_in(node):
    """Return the names in a syntax tree."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def needed_before(body, needed):
    """Return the names needed before `body` if `needed` are needed after it."""
    for statement in reversed(body):
        if isinstance(statement, ast.For):
            in_loop = needed_before(statement.body, set()) - names_in(statement.target)
            needed = needed | in_loop | symbols(statement.iter)[1]
        elif isinstance(statement, ast.With):
            needed = needed_before(statement.body, needed)
            for item in reversed(statement.items):
                if item.optional_vars:
                    needed = needed - names_in(item.optional_vars)
                needed = needed | symbols(item.context_expr)[1]
        else:
            bound, read = symbols(statement)
            if isinstance(statement, (ast.If, ast.While, ast.Try)):
                bound = set()
            needed = needed - bound | read
    return needed


def root_name(node):
    """Return the first name of attributes, items and calls: `env` for env.unwrapped.frame()."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def changed_in_place(statement, imported):
    """Return the names whose objects a statement may change.

    It may change them by an item, an attribute or a method. A call whose result is unused may
    change its arguments, and so may a rollout. Names in capitals are constants.
    """
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                names.add(root_name(node))
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                names.add(root_name(node))
            if root_name(node) == "rollout":
                names |= names_in(node)
        elif isinstance(node, ast.Expr) and root_name(node.value) not in BUILTINS:
            names |= names_in(node)
    constants = {name for name in names if name.isupper() and len(name) > 1}
    return names - imported - constants


def needed_statements(sources, targets):
    """Return {position: [statement]} of the target cells and of all statements that they need.

    A statement is needed if it binds a needed name, may change its object, or has a decorator,
    which may register it.

    Args:
        sources: {position: code}.
        targets: Positions of the cells to run completely.
    """
    statements = []
    for position in sorted(sources):
        if position <= max(targets):
            body = ast.parse(sources[position]).body
            statements += [(position, node) for node in body]
    imported = set()
    for _, node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imported |= symbols(node)[0]
    reads = {}
    changes = {}
    for _, node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            reads.setdefault(node.name, set()).update(symbols(node)[1])
            changed = changed_in_place(node, imported)
            changes.setdefault(node.name, set()).update(changed)
    selected = {}
    needed = set()
    for position, node in reversed(statements):
        changed, read = symbols(node)
        for name in read:
            changed |= changes.get(name, set())
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            changed |= changed_in_place(node, imported)
        has_decorator = bool(getattr(node, "decorator_list", []))
        if position in targets or changed & needed or has_decorator:
            selected.setdefault(position, []).insert(0, node)
            remaining = needed_before([node], needed)
            needed = set()
            while remaining:  # add the names that needed functions read
                name = remaining.pop()
                needed.add(name)
                remaining |= reads.get(name, set()) - needed
    return selected
