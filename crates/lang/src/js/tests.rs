//! What scripts can do, and what they cannot.

use std::cell::RefCell;

use travertine_value::{Limit, Map, Value};

use super::*;

fn variables() -> Map {
    let variables = Value::parse_json(
        r#"{
            "item": "invoice", "amount": 120, "rate": 0.1, "big": 9007199254740993,
            "huge": 123456789012345678901234567890, "fine": 0.1234567890123456789,
            "order": { "total": 1.5, "lines": [ { "sku": "x" } ], "__proto__": { "hacked": true } },
            "list": [ 1, 2 ], "endless": { "length": 9007199254740991 }, "nothing": null, "mixed": { "ok": 1, "fine": 0.1234567890123456789 }
        }"#,
    );
    variables.unwrap().as_map().unwrap().clone()
}

fn run(kind: Kind, source: &str, limits: &Limits) -> Result<Outcome, EvalError> {
    JavaScript::default().compile(kind, source).unwrap().run(&variables(), limits)
}

/// The value of an expression as JSON, or what is wrong with it.
fn value(source: &str) -> String {
    match run(Kind::Expression, source, &Limits::default()) {
        Ok(outcome) => outcome.value.to_string(),
        Err(error) => error.to_string(),
    }
}

/// What a script writes, or what is wrong with it.
fn writes(source: &str) -> String {
    match run(Kind::Script, source, &Limits::default()) {
        Ok(outcome) => {
            let write = |(name, value): (Name, Option<Value>)| match value {
                Some(value) => format!("{name}={value}"),
                None => format!("-{name}"),
            };
            outcome.writes.into_iter().map(write).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.to_string(),
    }
}

fn table(answer: fn(&str) -> String, rows: &[(&str, &str)]) {
    for (source, expected) in rows {
        assert_eq!(answer(source), *expected, "{source}");
        // A script that might compute names goes another way, to the same end.
        assert_eq!(answer(&format!("/* this */ {source}")), *expected, "{source}, the long way");
    }
}

#[test]
fn expressions_see_variables_as_names_and_as_fields() {
    table(
        value,
        &[
            ("amount > 100", "true"),
            ("_context.amount * 2", "240"),
            ("order.lines[0].sku + item", "\"xinvoice\""),
            ("_context['item']", "\"invoice\""),
            ("_context['am' + 'ount']", "120"),
            ("_context.missing", "null"),
            ("typeof missing", "\"undefined\""),
            ("'amount' in _context && !('missing' in _context)", "true"),
            ("_context.hasOwnProperty('item')", "true"),
            ("nothing === null", "true"),
            ("{ a: 1 }.a + [1, 2].length", "3"),
            ("rate * 3", "0.30000000000000004"),
            ("Object.keys(_context).length", "11"),
            (
                "JSON.stringify(_context.order)",
                r#""{\"total\":1.5,\"lines\":[{\"sku\":\"x\"}],\"__proto__\":{\"hacked\":true}}""#,
            ),
            ("amount // the end", "120"),
            ("1, 2", "2"),
        ],
    );
}

#[test]
fn scripts_write_what_they_change_and_nothing_else() {
    table(
        writes,
        &[
            (r#"_context.result = "reviewed-" + _context.item"#, "result=\"reviewed-invoice\""),
            (
                "_context.order.total = 5",
                r#"order={"total":5,"lines":[{"sku":"x"}],"__proto__":{"hacked":true}}"#,
            ),
            ("_context.list.push(3)", "list=[1,2,3]"),
            ("list.reverse()", "list=[2,1]"),
            ("amount = 5", "amount=5"),
            ("'use strict'; amount = 5", "amount=5"),
            ("'use strict'; stray = 1", "ReferenceError: stray is not defined (line 1)"),
            ("amount += 1; amount -= 1", ""),
            ("delete _context.item", "-item"),
            ("delete _context['it' + 'em']", "-item"),
            ("_context['it' + 'em'] = undefined", "-item"),
            ("_context['it' + 'em'] = 'invoice'", ""),
            ("delete _context.missing", ""),
            ("_context.item = undefined", "-item"),
            ("_context.fresh = undefined", ""),
            ("_context.b = 1; _context.a = 2; _context.b = 3", "b=3 a=2"),
            ("var amount = 7; let item = 1; const rate = 2", ""),
            ("function f() { amount = 8 } f()", "amount=8"),
            ("stray = 1; for (i = 0; i < 3; i++) stray += i", ""),
            ("for (const key in _context) if (key === 'list') _context[key] = 0", "list=0"),
            (
                "Object.assign(_context, { x: 1, y: [undefined, { z: undefined }] }); 0",
                "x=1 y=[null,{}]",
            ),
            (
                "let copy = order; copy.total = 2",
                r#"order={"total":2,"lines":[{"sku":"x"}],"__proto__":{"hacked":true}}"#,
            ),
            ("item; order; list; big; huge", ""),
        ],
    );
}

#[test]
fn the_value_of_a_script_is_that_of_its_last_statement() {
    let value = |source| run(Kind::Script, source, &Limits::default()).unwrap().value;
    assert_eq!(value("var x = 2; x * 21"), Value::from(42));
    assert_eq!(value("if (amount > 100) 'big'; else 'small'"), Value::from("big"));
    assert_eq!(value(""), Value::Null);
}

#[test]
fn numbers_are_never_rounded_on_the_way() {
    table(
        value,
        &[
            ("big", "9007199254740993"),
            ("typeof big", "\"bigint\""),
            ("big + 1n", "9007199254740994"),
            ("huge * 10n", "1234567890123456789012345678900"),
            ("0.1", "0.1"),
            ("1e21", "1000000000000000000000"),
            ("2 ** 53", "9007199254740992"),
            ("1 / 3", "0.3333333333333333"),
            ("fine", "TypeError: fine has more digits than a JavaScript number can hold (line 1)"),
            (
                "mixed.ok",
                "TypeError: mixed.fine has more digits than a JavaScript number can hold (line 1)",
            ),
            (
                "10n ** 40n + 1n",
                "the value of the script cannot be kept: a number has at most 34 significant digits",
            ),
        ],
    );
    assert_eq!(
        writes("order.total = big"),
        r#"order={"total":9007199254740993,"lines":[{"sku":"x"}],"__proto__":{"hacked":true}}"#
    );
}

#[test]
fn what_is_not_a_value_is_refused_by_name() {
    table(
        writes,
        &[
            ("_context.x = 0 / 0", "x is not a number: NaN"),
            ("_context.x = { y: [1, 1 / 0] }", "x.y[1] is not a number: inf"),
            ("_context.x = () => 1; 0", "x is a function"),
            ("_context.x = [Symbol('s')]", "x[0] is a symbol"),
            ("let a = {}; a.a = a; _context.x = a; 0", "x.a contains itself"),
            ("let a = []; a.push(a); _context.x = a; 0", "x[0] contains itself"),
            ("_context.x = new Map(); 0", "x is of class Map, which is not a value"),
            ("_context.x = /re/; 0", "x is of class RegExp, which is not a value"),
            ("_context.x = Promise.resolve(1); 0", "x is a promise"),
            ("_context.x = '\\ud800'; 0", "x holds half of a surrogate pair"),
            ("class P { constructor() { this.a = 1 } } _context.x = new P()", "x={\"a\":1}"),
        ],
    );
}

#[test]
fn errors_say_what_and_in_which_line() {
    table(
        writes,
        &[
            ("unknown", "ReferenceError: unknown is not defined (line 1)"),
            ("1;\n\nnull.x", "TypeError: cannot read property 'x' of null (line 3)"),
            ("1;\nfunction f() {\n  throw new Error('no') }\nf()", "Error: no (line 3)"),
            ("throw 'text'", "text was thrown"),
            ("throw null", "null was thrown"),
            ("throw { toString() { throw 1 } }", "something without a text was thrown"),
        ],
    );
}

#[test]
fn a_bpmn_error_is_thrown_to_the_model() {
    let thrown = |source| run(Kind::Script, source, &Limits::default()).unwrap_err();
    assert_eq!(
        thrown("throw new BpmnError('LIMIT', 'too much')"),
        EvalError::Thrown { code: "LIMIT".into(), message: "too much".into() }
    );
    assert_eq!(
        thrown("try { throw new BpmnError(42) } catch (e) { if (e instanceof Error) throw e }"),
        EvalError::Thrown { code: "42".into(), message: String::new() }
    );
    assert_eq!(
        thrown("throw Object.create(BpmnError.prototype)").to_string(),
        "BpmnError was thrown"
    );
}

#[test]
fn syntax_errors_are_found_when_compiling() {
    for (kind, source, expected) in [
        (Kind::Script, "let a = ;", "unexpected token in expression: ';' (line 1, column 9)"),
        (Kind::Script, "1;\n  foo(;", "unexpected token in expression: ';' (line 2, column 7)"),
        (Kind::Script, "return 1", "return not in a function (line 1, column 1)"),
        (Kind::Expression, "1 +", "it ends where more is expected (line 1, column 4)"),
        (Kind::Expression, " + ;", "unexpected token in expression: ';' (line 1, column 4)"),
        (Kind::Expression, "", "it ends where more is expected (line 1, column 1)"),
    ] {
        let error = JavaScript::default().compile(kind, source).unwrap_err();
        assert_eq!(error.to_string(), expected, "{source}");
    }
    for source in ["1) + (2", "1; 2", "1 }); (function () {", "let a = 1", "/*", "a\0b"] {
        assert!(JavaScript::default().compile(Kind::Expression, source).is_err(), "{source}");
    }
}

#[test]
fn compiling_runs_nothing() {
    JavaScript::default().compile(Kind::Script, "for (;;) {}").unwrap();
    JavaScript::default()
        .compile(Kind::Script, "function f() {} throw new Error('never')")
        .unwrap();
}

#[test]
fn absurd_nesting_is_a_compile_error() {
    for open in ["(", "[", "{", "!", "a?", "()=>", "`${"] {
        assert!(
            JavaScript::default().compile(Kind::Script, &open.repeat(100_000)).is_err(),
            "{open}"
        );
    }
}

#[test]
fn there_is_no_clock_no_chance_and_no_outside() {
    table(
        writes,
        &[
            ("new Date()", "TypeError: Date is not available in scripts (line 1)"),
            ("Date.now()", "TypeError: Date is not available in scripts (line 1)"),
            ("Math.random()", "TypeError: Math.random is not available in scripts (line 1)"),
            (
                "new Function('return Date')()",
                "TypeError: Date is not available in scripts (line 3)",
            ),
            ("import('fs')", "the value of the script is a promise"),
            ("import('fs'); 0", "a script cannot wait: its promises never settle"),
            (
                "Promise.resolve().then(() => 1); 0",
                "a script cannot wait: its promises never settle",
            ),
        ],
    );
    for name in [
        "require",
        "process",
        "std",
        "os",
        "print",
        "console",
        "setTimeout",
        "setInterval",
        "fetch",
        "WeakRef",
        "FinalizationRegistry",
        "Atomics",
        "SharedArrayBuffer",
        "performance",
        "Worker",
        "queueMicrotask",
        "load",
        "names",
        "charge",
        "target",
        "settled",
        "scope",
        "traps",
        "host",
    ] {
        for source in [name.to_owned(), format!("new Function('return {name}')()")] {
            let expected = format!("ReferenceError: {name} is not defined");
            assert!(writes(&source).starts_with(&expected), "{source}");
        }
        assert_eq!(value(&format!("globalThis.{name} === undefined")), "true");
    }
}

#[test]
fn nothing_leaks_into_the_next_run() {
    writes(
        "globalThis.stray = 1; Array.prototype.push = () => { throw 'patched' };
         Object.prototype.inherited = 1; String.prototype.trim = null; Symbol.for('x').description;
         JSON.parse = null; delete globalThis.BpmnError; Function.prototype.call = null;
         Object.freeze(Array.prototype)",
    );
    assert_eq!(
        value(
            "[typeof stray, [].push(1), ({}).inherited, ' x'.trim(), JSON.parse('1'), typeof BpmnError]"
        ),
        r#"["undefined",1,null,"x",1,"function"]"#
    );
}

#[test]
fn a_script_that_breaks_its_own_world_harms_only_itself() {
    table(
        writes,
        &[
            ("Reflect.ownKeys = Object.defineProperty = null; _context.x = 1", "x=1"),
            (
                "Object.prototype.toString = () => { throw 'mine' }; _context.x = { a: 1 }",
                "x={\"a\":1}",
            ),
            ("Array.prototype[Symbol.iterator] = null; _context.x = [1]", "x=[1]"),
            ("Object.defineProperty(Object.prototype, 'get', { value: 1 }); _context.x = 1", "x=1"),
            ("_context = 5; amount = 6", "amount=6"),
            ("_context.__proto__ = { a: 1 }", "__proto__={\"a\":1}"),
            ("Object.preventExtensions(_context); _context.amount = 1; _context.x = 1", "amount=1"),
            ("Object.setPrototypeOf(_context, null); _context.x = { a: 1 }", "x={\"a\":1}"),
            (
                "_context.x = new Proxy({}, { ownKeys() { throw new Error('trap') } }); 0",
                "Error: trap (line 1)",
            ),
        ],
    );
}

#[test]
fn a_run_is_bounded() {
    // However long it takes on this machine.
    let limits = Limits { time_ms_max: None, ..Limits::default() };
    let limit = |source: &str| match run(Kind::Script, source, &limits) {
        Err(EvalError::Limit(limit)) => Some(limit),
        _ => None,
    };
    for source in [
        "for (;;) {}",
        "for (;;) { try { for (;;) {} } catch (e) {} finally { continue } }",
        "/(a+)+$/.test('a'.repeat(50) + 'b')",
        "[].indexOf.call({ length: 2 ** 53 - 1 }, 1)",
        "list.length = 4294967295; list.reverse()",
        "list.length = 4294967295; list.sort()",
        "list.length = 4294967295; String(list)",
        "list.length = 4294967295; [].concat(list)",
        "list.length = 4294967295; [list].flat()",
        "list.length = 4294967295; for (;;) try { list.shift() } catch (e) {}",
        "_context.x = { get a() { for (;;) {} } }; 0",
        "const f = { f() { f.f(); f.f() } }; for (;;) try { f.f() } catch (e) {}",
        "_context.x = {}; throw { get message() { for (;;) {} }, toString() { for (;;) {} } }",
        "function* g() { for (;;) yield 1 } [...{ [Symbol.iterator]: () => ({ next: () => ({}) }) }]",
    ] {
        let found = limit(source);
        assert!(matches!(found, Some(Limit::Steps | Limit::Memory)), "{source}: {found:?}");
    }
    for source in [
        "'x'.repeat(1e9)",
        "let a = []; for (;;) a.push(a.slice())",
        "let s = 'x'; for (;;) s += s",
        "let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; _context.x = a; 0",
        "list.length = 4294967295; 0",
    ] {
        assert_eq!(limit(source), Some(Limit::Memory), "{source}");
    }
    for source in [
        "(function f() { f() })()",
        "let o = {}; for (let i = 0; i < 1e4; i++) o = { o }; _context.x = o; 0",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; JSON.stringify(o)",
        "JSON.parse('['.repeat(1e6))",
        "eval('('.repeat(1e6))",
    ] {
        assert_eq!(limit(source), Some(Limit::Depth), "{source}");
    }
    for source in [
        "endless.reverse = list.reverse; endless.reverse()",
        "endless.stop = list.slice; endless.stop()",
        "[].reverse.call({ length: 2 ** 53 - 1 })",
        "[].join.call(new Proxy([], {}))",
    ] {
        assert!(writes(source).contains("works on lists only"), "{source}");
    }
}

#[test]
fn running_out_of_memory_anywhere_is_the_memory_limit() {
    let source =
        "let m = new Map(); for (let i = 0; i < 3000; i++) m.set('k' + i, /x(y)?/.exec('xy' + i));
                  _context.size = m.size";
    let mut outcomes = Vec::new();
    for memory_bytes_max in (0..60).map(|it| it * 20_011) {
        let limits = Limits { memory_bytes_max, ..Limits::default() };
        outcomes.push(run(Kind::Script, source, &limits).map(|it| it.value));
    }
    outcomes.dedup();
    assert_eq!(outcomes, [Err(Limit::Memory.into()), Ok(Value::from(3000))]);
}

#[test]
fn the_same_script_takes_the_same_steps() {
    let source = "let n = 0; while (n < 50000) n++; n";
    let ends =
        |steps_max| run(Kind::Script, source, &Limits { steps_max, ..Limits::default() }).is_ok();
    let least = (0..20).map(|it| it * 10_000).find(|it| ends(*it)).unwrap();
    for _ in 0..3 {
        assert!(ends(least) && !ends(least - 10_000));
    }
}

#[test]
fn values_deeper_than_the_limit_are_refused_on_the_way_in() {
    let limits = Limits { depth_max: 2, ..Limits::default() };
    assert_eq!(run(Kind::Expression, "order.total", &limits), Err(Limit::Depth.into()));
}

#[test]
fn list_methods_still_work() {
    table(
        value,
        &[
            ("[3, 1, 2].sort().join('-')", "\"1-2-3\""),
            ("[1, [2, [3]]].flat()", "[1,2,[3]]"),
            ("[1, [2, [3]]].flat(Infinity)", "[1,2,3]"),
            ("[1, 2].flatMap(x => [x, x])", "[1,1,2,2]"),
            ("[1].concat([2], 3, { length: 1 }, [[4]])", "[1,2,3,{\"length\":1},[4]]"),
            ("[1, 2, 3].slice(1).concat([1, 2, 3].splice(0, 1))", "[2,3,1]"),
            ("`${[1, 2]}` + String.raw`a\\n${1}`", "\"1,2a\\\\n1\""),
            ("JSON.stringify({ a: 1, b: 2 }, ['b'])", "\"{\\\"b\\\":2}\""),
            ("[1, 2].reverse.name + [].shift.length", "\"reverse0\""),
        ],
    );
}

#[test]
fn only_what_a_script_names_is_fetched() {
    #[derive(Default)]
    struct Watched(RefCell<Vec<String>>);
    impl Variables for Watched {
        fn get(&self, name: &str) -> Option<Value> {
            self.0.borrow_mut().push(name.to_owned());
            ["x", "z"].contains(&name).then(|| Value::from(1))
        }
        fn names(&self) -> Vec<Name> {
            vec!["x".into(), "z".into()]
        }
    }
    let fetched = |source| {
        let variables = Watched::default();
        JavaScript::default()
            .compile(Kind::Script, source)
            .unwrap()
            .run(&variables, &Limits::default())
            .unwrap();
        variables.0.take().join(" ")
    };
    assert_eq!(fetched("_context.y = _context.x"), "y x");
    assert_eq!(fetched("if (x) { Object.keys(_context) }"), "x Object keys x z");
}

#[test]
fn reads_are_known_where_names_are_spelled() {
    let reads = |source| {
        let program = JavaScript::default().compile(Kind::Expression, source).unwrap();
        program.reads().map(|it| it.join(" "))
    };
    assert_eq!(reads("amount > 100 && _context.order.total < 5").unwrap(), "amount order total");
    for source in
        ["_context['a']", "f(_context)", "eval('x')", "this.x", "\\u0061", "[].at.constructor('x')"]
    {
        assert_eq!(reads(source), None, "{source}");
    }
}

#[test]
fn scripts_reach_variables_through_execution() {
    table(
        value,
        &[
            ("execution.getVariable('amount') + 1", "121"),
            ("execution.getVariable('nowhere')", "null"),
            ("execution.hasVariable('it' + 'em')", "true"),
            ("execution.hasVariable('nowhere')", "false"),
        ],
    );
    table(
        writes,
        &[
            ("execution.setVariable('x', amount)", "x=120"),
            ("execution.setVariable('amount', execution.getVariable('amount') / 2)", "amount=60"),
            ("execution.removeVariable('item')", "-item"),
            ("execution.execute()", "TypeError: not a function (line 1)"),
        ],
    );
    let program =
        JavaScript::default().compile(Kind::Expression, "execution.getVariable('a')").unwrap();
    assert_eq!(program.reads(), None, "names are computed");
    let own = Map::from_iter([(Name::from("execution"), Value::from(7_i64))]);
    let program = JavaScript::default().compile(Kind::Expression, "execution + 1").unwrap();
    assert_eq!(program.value(&own, &Limits::default()).unwrap(), Value::from(8_i64));
}

#[test]
fn work_in_the_engine_itself_is_charged_by_length() {
    let limits = Limits { steps_max: 1_000_000, time_ms_max: None, ..Limits::default() };
    let limit = |source: &str| match run(Kind::Script, source, &limits) {
        Err(EvalError::Limit(limit)) => Some(limit),
        _ => None,
    };
    for source in [
        "'a'.repeat(2e6).indexOf('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).lastIndexOf('b' + 'a'.repeat(1e6))",
        "'a'.repeat(2e6).includes('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).split('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).replace('a'.repeat(1e6) + 'b', '')",
        "'a'.repeat(2e6).replaceAll('a'.repeat(1e6) + 'b', '')",
        "'a'.repeat(2e6).indexOf({ toString: () => 'a'.repeat(1e6) + 'b' })",
        "''.indexOf.call({ toString: () => 'a'.repeat(2e6) }, 'a'.repeat(1e6) + 'b')",
        "const l = Array(1e6).fill(2); for (let i = 0; i < 1e4; i++) l.includes(1)",
        "const l = Array(1e6).fill(2); for (let i = 0; i < 1e4; i++) l.indexOf(1)",
        "const l = Array(1e6).fill('a'.repeat(1e6)); l.includes('a'.repeat(999999) + 'b')",
        "const s = ['a', 'b'].map(it => 'x'.repeat(1e6) + it); Array(1e5).fill(0).map((_, i) => s[i % 2]).sort()",
        "const s = 'a'.repeat(1e6); for (let i = 0; i < 1e4; i++) s.indexOf('b')",
        "const s = 'a'.repeat(1e6); for (let i = 0; i < 1e4; i++) s.toUpperCase()",
        "const s = 'ä'.repeat(1e6); for (let i = 0; i < 1e4; i++) s.normalize('NFD')",
        "const s = 'a'.repeat(1e6); for (let i = 0; i < 1e4; i++) s.padEnd(2e6)",
        "const s = '[' + '1,'.repeat(1e5) + '1]'; for (let i = 0; i < 1e4; i++) JSON.parse(s)",
        "const l = Array(1e5).fill(1); for (let i = 0; i < 1e4; i++) JSON.stringify(l)",
        "const o = { ...Array(1e5).fill(1) }; for (let i = 0; i < 1e4; i++) Object.keys(o)",
        "const o = { ...Array(1e5).fill(1) }; for (let i = 0; i < 1e4; i++) Object.assign({}, o)",
        "const s = 'a'.repeat(1e6); for (let i = 0; i < 1e4; i++) encodeURIComponent(s)",
        "const s = 'a'.repeat(1e6), m = new Map(); for (let i = 0; i < 1e4; i++) m.get(s)",
        "BigInt('9'.repeat(1e6))",
    ] {
        assert_eq!(limit(source), Some(Limit::Steps), "{source}");
    }
    for source in [
        "new RegExp('a|'.repeat(1e6)).test('b')",
        "RegExp('a|'.repeat(1e6)).test('b')",
        "'b'.match('a|'.repeat(1e6))",
        "'b'.search({ toString: () => 'a|'.repeat(1e6) })",
        "/a/.compile('a|'.repeat(1e6))",
        "new (class extends RegExp {})('a|'.repeat(1e6))",
        "new (/a/.constructor)('a|'.repeat(1e6))",
    ] {
        let found = writes(source);
        assert!(found.contains("a pattern has at most 10000 characters"), "{source}: {found}");
    }
}

#[test]
fn what_is_charged_works_as_ever() {
    table(
        value,
        &[
            ("'abcabc'.indexOf('c') + 'abcabc'.lastIndexOf('c', 4) * 10", "22"),
            ("'abc'.includes('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", "true"),
            ("'a-b-c'.split('-').concat('a1b'.split(/\\d/))", r#"["a","b","c","a","b"]"#),
            ("'aXbX'.replace('X', '-') + 'aXbX'.replaceAll(/X/g, it => it + it)", "\"a-bXaXXbXX\""),
            ("'x1y22'.match(/\\d+/g)", r#"["1","22"]"#),
            ("[...'x1y22'.matchAll(/\\d+/g)].length + 'ab'.search('b')", "3"),
            ("new RegExp('a(.)').exec('xab')[1] + (/x/ instanceof RegExp)", "\"btrue\""),
            ("RegExp('a', 'gi').flags + new RegExp(/a/m).flags", "\"gim\""),
            (
                "'a'.padStart(3, '.') + 'b'.repeat(2) + ' c '.trim() + 'D'.toLowerCase()",
                "\"..abbcd\"",
            ),
            ("'b'.localeCompare('a') + 'é'.normalize('NFD').length", "3"),
            ("''.includes.call(121, 2)", "true"),
            ("[1, 2, 3].includes(2) && [1, 2].indexOf(3) < 0 && [1, 1].lastIndexOf(1)", "1"),
            (
                "[3, 1].toSorted().concat([1, 2].toReversed(), [0, 0].fill(7), [1].with(0, 9))",
                "[1,3,2,1,7,7,9]",
            ),
            ("Array.from({ length: 2 }, (_, i) => i).concat(Array.from('ab'))", r#"[0,1,"a","b"]"#),
            ("Object.entries(Object.assign({ a: 1 }, { b: 2 }))", r#"[["a",1],["b",2]]"#),
            ("JSON.parse('{\"a\":[1]}').a[0] + JSON.stringify({ a: [1] }).length", "10"),
            ("new Map([['a', 1]]).get('a') + new Set('aab').size", "3"),
            (
                "parseInt('12px') + parseFloat('1.5') + Number(BigInt('2')) + Number(BigInt.asIntN(8, 257n))",
                "16.5",
            ),
            ("encodeURIComponent('ä') + decodeURIComponent('%C3%A4')", "\"%C3%A4ä\""),
            ("typeof BigInt(1) + (2n).toString()", "\"bigint2\""),
        ],
    );
}

#[test]
fn what_is_guarded_is_known_by_name() {
    let source = "const guarded = [];
        for (const holder of [globalThis, Array, Array.prototype, String, String.prototype, Object, Reflect,
            JSON, Map.prototype, Set.prototype, RegExp.prototype])
          for (const name of Object.getOwnPropertyNames(holder)) {
            const found = Object.getOwnPropertyDescriptor(holder, name).value;
            if (typeof found === 'function' && !`${found}`.includes('[native code]')) guarded.push(name);
          }
        guarded";
    let found = run(Kind::Script, source, &Limits::default()).unwrap().value;
    let known = ["BigInt", "RegExp", "BpmnError", "constructor"];
    let found = found.as_list().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
    let found: Vec<_> = found.filter(|it| !known.contains(&it.as_str())).collect();
    assert!(found.len() > 60, "{found:?}");
    for name in found {
        assert!(words::GUARDED.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_script_that_cannot_be_counted_is_stopped_by_the_clock() {
    let limits = Limits { time_ms_max: Some(100), ..Limits::default() };
    for source in [
        // One of these takes a tenth of a second, and there is no looking at the clock in between.
        "let a = 2n ** 500000n - 1n, b; for (let i = 0; i < 1e6; i++) b = a * a",
        "let s = 'a'.repeat(2e7), o = {}; for (let i = 0; i < 1e6; i++) o[s + 'b']",
        "eval(Array.from({ length: 2e5 }, (_, i) => 'var a' + i).join(';'))",
        "let x = big; for (let i = 0; i < 13; i++) x = x * x; for (;;) x * x",
    ] {
        let found = run(Kind::Script, source, &limits).map(|it| it.value);
        assert_eq!(found, Err(Limit::Time.into()), "{source}");
    }
}

#[test]
fn only_what_does_each_thing_once_needs_no_clock() {
    for source in
        ["amount > 100 && _context.order.total < 5", "_context.x = amount * 2; y = `${x}`"]
    {
        assert!(words::are_soon_done(source), "{source}");
    }
    for source in [
        "for (;;) {}",
        "() => 1",
        "x ** 2",
        "1n + x",
        "({ f() { return f() } })",
        "({ get\nx ( ) { } })",
        "`${(function () {})}`",
    ] {
        assert!(!words::are_soon_done(source), "{source}");
    }
}

#[test]
fn scripts_know_the_instance_through_execution() {
    struct Somewhere;
    impl Variables for Somewhere {
        fn get(&self, _: &str) -> Option<Value> {
            None
        }

        fn names(&self) -> Vec<Name> {
            Vec::new()
        }

        fn fact(&self, fact: travertine_value::Fact) -> Option<Name> {
            (fact != travertine_value::Fact::BusinessKey).then(|| format!("{fact:?}").into())
        }
    }
    for (text, value) in [
        ("execution.id", "\"Instance\""),
        ("execution.getProcessInstanceId()", "\"Instance\""),
        ("execution.businessKey", "null"),
        ("execution.getProcessBusinessKey()", "null"),
        (
            "execution.getCurrentActivityId() + '/' + execution.currentActivityName",
            "\"Element/ElementName\"",
        ),
    ] {
        let program = JavaScript::default().compile(Kind::Expression, text).unwrap();
        let found = program.value(&Somewhere, &Limits::default()).map(|it| it.to_string());
        assert_eq!(found.as_deref(), Ok(value), "{text}");
    }
}

#[test]
fn an_expression_that_ends_early_is_told_where_it_ends() {
    let told = |text: &str| {
        let error = JavaScript::default().compile(Kind::Expression, text).unwrap_err();
        (error.line, error.column, error.message)
    };
    let ends = "it ends where more is expected".to_owned();
    assert_eq!(told("amount >"), (1, 9, ends.clone()));
    assert_eq!(told("(a\n  + b"), (2, 6, ends.clone()));
    assert_eq!(told("[1, 2"), (1, 6, ends.clone()));
    // The brackets around it are not the text's own.
    for text in ["a ) + (b", "a )", "a ]", "a b", "a, = b"] {
        let (line, _, message) = told(text);
        assert!(line == 1 && message != ends, "{text}: {message}");
    }
}
