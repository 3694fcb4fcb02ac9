//! Expressions that would compute for ever, or make something as large as memory.

use travertine_lang::{Kind, Languages};
use travertine_value::{Limits, Map};

use super::{Case, Fate, What};

pub(super) const CASES: &[Case] = &[
    Case { name: "javascript-that-searches", what: What::Expressions("js", searches) },
    Case { name: "javascript-that-grows", what: What::Expressions("js", grows) },
    Case { name: "javascript-that-loops", what: What::Expressions("js", loops) },
    Case { name: "javascript-that-is-deep", what: What::Expressions("js", deep) },
    Case { name: "feel-that-grows", what: What::Expressions("feel", feel) },
    Case { name: "juel-that-grows", what: What::Expressions("juel", juel) },
];

/// Compiles and runs each; an error is an answer, too.
pub(super) fn run(language: &str, sources: &[String]) -> Result<Fate, String> {
    let languages = Languages::standard();
    let language = languages.find(language).ok_or("there is no such language")?;
    for source in sources {
        if let Ok(program) = language.compile(Kind::Expression, source) {
            // Whatever it says, it says it.
            let _: Result<_, _> = program.value(&Map::default(), &Limits::default());
        }
    }
    Ok(Fate::Answered)
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|&it| it.to_owned()).collect()
}

fn searches() -> Vec<String> {
    texts(&[
        "'a'.repeat(2e6).indexOf('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).lastIndexOf('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).includes('a'.repeat(1e6) + 'b')",
        "'a'.repeat(2e6).split('a'.repeat(1e6) + 'b').length",
        "'a'.repeat(2e6).replace('a'.repeat(1e6) + 'b', '')",
        "'a'.repeat(2e6).replaceAll('a'.repeat(1e6) + 'b', '')",
        "new RegExp('a|'.repeat(1e6)).test('b')",
        "new RegExp('(a?){1000}'.repeat(1000)).test('b')",
        "/(a+)+$/.test('a'.repeat(100) + 'b')",
        "'a'.repeat(1e6).match(/a*b/)",
        "'a'.repeat(1e6).search(/(.*)(.*)(.*)(.*)b/)",
        "(() => { const l = Array(1e6).fill(0); let n = 0; for (let i = 0; i < 10000; i++) n += l.includes(1); return n })()",
        "(() => { const t = 'a'.repeat(1e6); let n = 0; for (let i = 0; i < 10000; i++) n += t.indexOf('b'); return n })()",
        "(() => { const l = Array(1e6).fill(0); let n = 0; for (let i = 0; i < 10000; i++) n += l.lastIndexOf(1); return n })()",
        "(() => { const t = '\\u1e9b\\u0323'.repeat(1e5); let n = 0; for (let i = 0; i < 10000; i++) n += t.normalize('NFKD').length; return n })()",
        "(() => { const t = 'a'.repeat(1e6); let n = 0; for (let i = 0; i < 10000; i++) n += t.localeCompare(t + 'b'); return n })()",
        "(() => { const t = 'A'.repeat(1e6); let n = 0; for (let i = 0; i < 10000; i++) n += t.toLowerCase().length; return n })()",
    ])
}

fn grows() -> Vec<String> {
    texts(&[
        "'a'.repeat(1e9)",
        "'a'.padEnd(1e9, 'b')",
        "Array(1e9).fill(0)",
        "Array(1e7).join('abc')",
        "new Uint8Array(4e9)",
        "(() => { let t = 'a'; for (;;) t += t })()",
        "(() => { let l = [1]; for (;;) l = l.concat(l) })()",
        "(() => { let l = [1]; for (;;) l = [...l, ...l] })()",
        "2n ** 100000000n",
        "(() => { let n = 3n; for (;;) n = n * n })()",
        "JSON.stringify(Array(1e6).fill('a'.repeat(1000)))",
        "(() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, i) })()",
        "'a'.repeat(1e6).replace(/a/g, '$&'.repeat(1000))",
    ])
}

fn loops() -> Vec<String> {
    texts(&[
        "(() => { for (;;); })()",
        "(() => { for (;;) try { throw 1 } catch {} })()",
        "(() => { const f = () => f(); return f() })()",
        "[...(function* () { for (;;) yield 1 })()]",
        "Array.from({ length: 1e9 }, () => 1)",
        "Array(1e6).fill(0).sort(() => { for (let i = 0; i < 1e6; i++); return 0 })",
        "Object.assign({}, new Proxy({}, { ownKeys: () => { for (;;); } }))",
        "new Promise(r => r()).then(() => { for (;;); }) && 1",
        "Array(1e6).fill(1).map((_, i) => 1e6 - i).sort().reverse().sort()",
        "JSON.parse('[' .repeat(1e6))",
    ])
}

fn deep() -> Vec<String> {
    let brackets = |n| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    let lists = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
    vec![
        brackets(1_000_000),
        lists(1_000_000),
        format!("1{}", "+1".repeat(1_000_000)),
        format!("{}1", "!".repeat(1_000_000)),
        format!("a{}", "?.b".repeat(1_000_000)),
    ]
}

fn feel() -> Vec<String> {
    let mut all = texts(&[
        "for i in 1..1000000000000 return i",
        "count(for i in 1..1000000, j in 1..1000000 return 1)",
        "some i in 1..1000000000000 satisfies i < 0",
        "sum(for i in 1..1000000000 return i ** i)",
        "9999999999 ** 9999999999",
        "string join(for i in 1..10000000 return \"aaaaaaaaaa\")",
        "replace(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"(a+)+b\", \"x\")",
        "matches(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"^(a|a)*$b\")",
        "for i in 1..20 return for j in 1..20 return partial",
        "for i in 1..100000 return partial",
        "flatten(for i in 1..3000 return for j in 1..3000 return j)",
        "distinct values(for i in 1..20000 return i)",
        "date(\"2020-01-01\") + duration(\"P999999999Y\")",
        "duration(\"P999999999999999999D\")",
        "@\"2020-01-01T00:00:00\" + duration(\"PT999999999999999999999S\")",
        "sort(for i in 1..100000 return 100000 - i, function(a, b) a < b)",
        "{f: function(x) f(x), y: f(1)}.y",
        "{f: function(x) if x = 0 then 0 else f(x - 1), y: f(1000000)}.y",
    ]);
    for n in [1_000, 1_000_000] {
        all.push(format!("{}1{}", "(".repeat(n), ")".repeat(n)));
        all.push(format!("{}{}", "[".repeat(n), "]".repeat(n)));
        all.push(format!("{}1{}", "if true then ".repeat(n), " else 2".repeat(n)));
        all.push(format!("1{}", " + 1".repeat(n)));
        all.push(format!("{}1", "-".repeat(n)));
        all.push(format!("a{}", ".b".repeat(n)));
        all.push(format!("{}1{}", "{a: ".repeat(n), "}".repeat(n)));
        all.push(format!("{}1", "function(x) ".repeat(n)));
    }
    all
}

fn juel() -> Vec<String> {
    let mut all = Vec::new();
    for n in [1_000, 1_000_000] {
        all.push(format!("${{{}1{}}}", "(".repeat(n), ")".repeat(n)));
        all.push(format!("${{1{}}}", " + 1".repeat(n)));
        all.push(format!("${{{}true}}", "!".repeat(n)));
        all.push(format!("${{a{}}}", ".b".repeat(n)));
        all.push(format!("${{{}1{}}}", "true ? ".repeat(n), " : 2".repeat(n)));
        all.push("${1}".repeat(n));
    }
    all
}
