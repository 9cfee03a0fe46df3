/** The Python side of a run: reads the program from stdin, says on fd 3 what it is, then becomes it. */

/**
 * Defines `only_literals(tree)`: does everything that the program prints come from literals alone? True when it prints,
 * no printed value depends on arithmetic, a comprehension, an attribute or a call (other than printing, converting and
 * the program's own functions), and no `if`, `while` or `assert` that computes something stands in the way. A plain
 * data-flow over names, blind to order: it errs on the side of false.
 */
export const literalCheck = `
def only_literals(tree):
    plain = {'print', 'str', 'int', 'float', 'bool', 'repr', 'format', 'abs', 'round', 'tuple', 'list', 'set', 'dict',
             'Fraction', 'Decimal'}
    text = {'format', 'join', 'strip', 'upper', 'lower', 'title', 'replace', 'split', 'append', 'add', 'update'}
    passing = {'Tuple', 'List', 'Set', 'Dict', 'JoinedStr', 'FormattedValue', 'Starred', 'UnaryOp', 'IfExp', 'Compare',
               'BoolOp', 'Subscript', 'Slice', 'NamedExpr', 'keyword', 'Constant', 'Expr'}
    def kind(node):
        return type(node).__name__
    def children(node):
        for field in getattr(node, '_fields', ()):
            value = getattr(node, field)
            for child in (value if isinstance(value, list) else [value]):
                if hasattr(child, '_fields'):
                    yield child
    def walk(node):
        stack = [node]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(children(node))
    nodes = list(walk(tree))
    functions = {n.name: n for n in nodes if kind(n) == 'FunctionDef'}
    bound, computed_names = {}, set()
    def bind(target, values):
        for n in walk(target):
            if kind(n) == 'Name':
                bound.setdefault(n.id, []).extend(values)
    def is_print(n):
        f = n.func
        return kind(f) == 'Name' and f.id == 'print' or kind(f) == 'Attribute' and f.attr == 'write'
    def arguments(n):
        return list(n.args) + [k.value for k in n.keywords]
    for n in nodes:
        k = kind(n)
        if k == 'Assign':
            for target in n.targets:
                bind(target, [n.value])
        elif k in ('AnnAssign', 'NamedExpr'):
            bind(n.target, [n.value] if n.value is not None else [])
        elif k == 'For':
            bind(n.target, [n.iter])
        elif k == 'AugAssign':
            computed_names.update(m.id for m in walk(n.target) if kind(m) == 'Name')
        elif k in ('Import', 'ImportFrom'):
            computed_names.update((a.asname or a.name).split('.')[0] for a in n.names)
        elif k in ('ClassDef', 'AsyncFunctionDef'):
            computed_names.add(n.name)
        elif k == 'withitem' and n.optional_vars is not None:
            computed_names.update(m.id for m in walk(n.optional_vars) if kind(m) == 'Name')
        elif k == 'Call':
            f = n.func
            if kind(f) == 'Attribute' and kind(f.value) == 'Name':
                bind(f.value, arguments(n))
            if kind(f) == 'Name' and f.id in functions:
                for a in walk(functions[f.id].args):
                    if kind(a) == 'arg':
                        bound.setdefault(a.arg, []).extend(arguments(n))
            if kind(f) == 'Name' and f.id in ('exec', 'eval', 'compile', '__import__', 'getattr', 'globals'):
                return False
    computed_names -= plain
    def computed(n):
        k = kind(n)
        if k == 'Name':
            return n.id in computed_names
        if k == 'Call':
            f = n.func
            if kind(f) == 'Name' and f.id in functions:
                return f.id in computed_names
            if kind(f) == 'Name':
                return f.id not in plain or any(computed(a) for a in arguments(n))
            if kind(f) == 'Attribute' and f.attr in text:
                return computed(f.value) or any(computed(a) for a in arguments(n))
            return True
        if k in passing:
            return any(computed(c) for c in children(n))
        return k not in ('Load', 'Store', 'USub', 'UAdd', 'Not', 'And', 'Or', 'Eq', 'NotEq', 'Lt', 'LtE', 'Gt', 'GtE',
                         'Is', 'IsNot', 'In', 'NotIn')
    returns = {}
    for name, function in functions.items():
        returns[name] = [n.value for n in walk(function) if kind(n) == 'Return' and n.value is not None]
        if any(kind(n) in ('Yield', 'YieldFrom') for n in walk(function)):
            computed_names.add(name)
    changed = True
    while changed:
        changed = False
        for table in (bound, returns):
            for name, values in table.items():
                if name not in computed_names and any(computed(v) for v in values):
                    computed_names.add(name)
                    changed = True
    prints = [n for n in nodes if kind(n) == 'Call' and is_print(n)]
    if not prints or any(computed(a) for n in prints for a in arguments(n)):
        return False
    def decides(n):
        return kind(n) == 'Assert' or any(
            kind(m) == 'Raise' or kind(m) == 'Call' and (is_print(m) or kind(m.func) == 'Attribute') for m in walk(n))
    guards = [n for n in nodes if kind(n) in ('If', 'While', 'Assert', 'Match', 'For') and decides(n)]
    tests = [n.subject if kind(n) == 'Match' else n.iter if kind(n) == 'For' else n.test for n in guards]
    return not any(computed(t) for t in tests)
`;

/**
 * The script of every run. On fd 3: `start`, then `syntax` for a program that does not compile or `literal 0|1|?`;
 * the fd is closed before the program's first instruction, so that nothing it does can change the report.
 */
export const bootScript = `
import os, sys
def boot():
    say = lambda text: os.write(3, text)
    say(b'start\\n')
    source = sys.stdin.buffer.read()
    sys.argv = ['program.py']
    if '' in sys.path:
        sys.path.remove('')
    try:
        code = compile(source, 'program.py', 'exec')
    except BaseException:
        say(b'syntax\\n')
        raise
    try:
        scope = {}
        exec(CHECK, scope)
        say(b'literal 1\\n' if scope['only_literals'](compile(source, 'program.py', 'exec', 0x400)) else b'literal 0\\n')
    except BaseException:
        say(b'literal ?\\n')
    os.close(3)
    return code
CHECK = ${JSON.stringify(literalCheck)}
exec(boot(), {'__name__': '__main__', '__builtins__': __builtins__})
`;
