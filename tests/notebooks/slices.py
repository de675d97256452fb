"""Which statements of a notebook some of its cells need: a backward slice by names.

A name is needed if a later statement reads it, also inside a function that it calls. In doubt a statement is needed.
"""

import ast
import builtins
import symtable

BUILTINS = set(dir(builtins))


def symbols(node):
    """Return the names that a statement binds, and those that it reads, also in functions."""
    top = symtable.symtable(ast.unparse(node), "cell", "exec")
    bound, read = set(), set()
    for one in top.get_symbols():
        if one.is_assigned() or one.is_imported():
            bound.add(one.get_name())
        if one.is_referenced():
            read.add(one.get_name())
    tables = list(top.get_children())
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for one in table.get_symbols():
            if one.is_global() and one.is_referenced():
                read.add(one.get_name())
    return bound, read - BUILTINS


def names_in(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def needed_before(body, needed):
    """Return the names needed before `body` if `needed` are needed after it."""
    for statement in reversed(body):
        if isinstance(statement, ast.For):
            inside = needed_before(statement.body, set()) - names_in(statement.target)
            needed = needed | inside | symbols(statement.iter)[1]
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


def root(node):
    """Return the name that attributes, items and calls begin with: `env` of env.unwrapped.frame()."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def changed_in_place(statement, imported):
    """Return the names whose objects a statement may change: by an item, an attribute or a method of theirs.

    A call whose result is not used may change its arguments, and so may a rollout. Names in capitals are constants.
    """
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                found.add(root(node))
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                found.add(root(node))
            if root(node) == "rollout":
                found |= names_in(node)
        elif isinstance(node, ast.Expr) and root(node.value) not in BUILTINS:
            found |= names_in(node)
    constants = {name for name in found if name.isupper() and len(name) > 1}
    return found - imported - constants


def needed_statements(sources, targets):
    """Return {position: [statement]} of the cells at `targets` and of all that they need.

    A statement is needed if it binds a needed name, may change its object, or has a decorator,
    which may register it.

    Args:
        sources: {position: code}.
        targets: Positions of the cells to run as a whole.
    """
    statements, imported, reads, changes = [], set(), {}, {}
    for at in sorted(sources):
        if at <= max(targets):
            statements += [(at, node) for node in ast.parse(sources[at]).body]
    for _, node in statements:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imported |= symbols(node)[0]
    for _, node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            reads.setdefault(node.name, set()).update(symbols(node)[1])
            changed = changed_in_place(node, imported)
            changes.setdefault(node.name, set()).update(changed)
    chosen, needed = {}, set()
    for at, node in reversed(statements):
        changed, read = symbols(node)
        for name in read:
            changed |= changes.get(name, set())
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            changed |= changed_in_place(node, imported)
        registered = getattr(node, "decorator_list", [])
        if at in targets or changed & needed or registered:
            chosen.setdefault(at, []).insert(0, node)
            left = needed_before([node], needed)
            needed = set()
            while left:  # with what the functions among them read
                name = left.pop()
                needed.add(name)
                left |= reads.get(name, set()) - needed
    return chosen
