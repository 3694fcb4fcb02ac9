//! The names in a source text.
//!
//! This is no parser: it finds every word that could be the name of a variable, also in texts and
//! comments. Too many is fine; whoever needs a word that is not there goes the long way.

use indexmap::IndexSet;
use travertine_value::Name;

/// Every word once, in order of appearance.
pub(super) fn of(source: &str) -> Vec<Name> {
    let words = source.split(|it| !is_part(it));
    let words: IndexSet<&str> =
        words.filter(|it| it.starts_with(is_start) && !is_reserved(it)).collect();
    words.into_iter().map(Name::from).collect()
}

/// Whether a script cannot reach a variable without spelling its name: `_context` is only followed by
/// a point, and there is nothing by which a name could be computed.
pub(super) fn are_all_it_reads(source: &str) -> bool {
    const INDIRECT: [&str; 9] = [
        "eval",
        "Function",
        "constructor",
        "globalThis",
        "this",
        "with",
        "arguments",
        "__proto__",
        "execution",
    ];
    !source.contains('\\')
        && !has_any(source, &INDIRECT)
        && source.split("_context").skip(1).all(|it| it.starts_with('.'))
}

/// Whether a script that spells its names cannot call a method that needs guarding, nor make a list
/// that is longer than what it holds.
pub(super) fn need_no_guards(source: &str) -> bool {
    const MAKERS: [&str; 12] = [
        "length", "Array", "Object", "Reflect", "Proxy", "String", "JSON", "Symbol", "RegExp",
        "Map", "Set", "BigInt",
    ];
    source.split('[').skip(1).all(is_short_index)
        && !has_any(source, &MAKERS)
        && !has_any(source, &GUARDED)
}

/// What `guards.js` guards.
pub(super) const GUARDED: [&str; 75] = [
    "add",
    "assign",
    "compile",
    "concat",
    "copyWithin",
    "decodeURI",
    "decodeURIComponent",
    "defineProperties",
    "delete",
    "encodeURI",
    "encodeURIComponent",
    "endsWith",
    "entries",
    "escape",
    "fill",
    "flat",
    "flatMap",
    "freeze",
    "from",
    "get",
    "getOwnPropertyDescriptors",
    "getOwnPropertyNames",
    "getOwnPropertySymbols",
    "has",
    "includes",
    "indexOf",
    "isFrozen",
    "isSealed",
    "isWellFormed",
    "join",
    "keys",
    "lastIndexOf",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "ownKeys",
    "padEnd",
    "padStart",
    "parse",
    "parseFloat",
    "parseInt",
    "raw",
    "repeat",
    "replace",
    "replaceAll",
    "reverse",
    "seal",
    "search",
    "set",
    "shift",
    "slice",
    "sort",
    "splice",
    "split",
    "startsWith",
    "stringify",
    "substr",
    "substring",
    "toLocaleLowerCase",
    "toLocaleString",
    "toLocaleUpperCase",
    "toLowerCase",
    "toReversed",
    "toSorted",
    "toSpliced",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimStart",
    "unescape",
    "unshift",
    "values",
    "with",
];

/// Whether a script, which needs no guards, does each thing that it says once at most: there are no loops
/// and no functions in it, and nothing that makes long numbers.
pub(super) fn are_soon_done(source: &str) -> bool {
    const TWICE: [&str; 12] = [
        "async", "await", "class", "do", "for", "function", "get", "set", "static", "while",
        "yield", "import",
    ];
    const LONG: [&str; 3] = ["=>", "**", "<<"];
    let has_long_numbers = || {
        let mut words = source.split(|it| !is_part(it));
        words.any(|it| it.starts_with(|it: char| it.is_ascii_digit()) && it.ends_with('n'))
    };
    // A method is written with parentheses before its braces.
    let has_methods = || {
        let mut braces = source.match_indices('{');
        braces.any(|(at, _)| source[..at].trim_end().ends_with(')'))
    };
    source.len() <= 4 << 10
        && !LONG.iter().any(|it| source.contains(it))
        && !has_any(source, &TWICE)
        && !has_long_numbers()
        && !has_methods()
}

/// Whether what follows a bracket is a small index, or nothing: `[0]`, `[]`.
fn is_short_index(after: &str) -> bool {
    let rest = after.trim_start_matches(|it: char| it.is_ascii_digit());
    rest.starts_with(']') && after.len() - rest.len() <= 6
}

/// Whether bare names of the script could be mistaken for what every object inherits.
pub(super) fn are_inherited(source: &str) -> bool {
    const INHERITED: [&str; 10] = [
        "toString",
        "toLocaleString",
        "valueOf",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ];
    has_any(source, &INHERITED)
}

fn has_any(source: &str, words: &[&str]) -> bool {
    source.split(|it| !is_part(it)).any(|it| words.contains(&it))
}

fn is_start(it: char) -> bool {
    it.is_alphabetic() || it == '_' || it == '$'
}

fn is_part(it: char) -> bool {
    is_start(it) || it.is_numeric()
}

fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "_context"
            | "break"
            | "case"
            | "catch"
            | "class"
            | "const"
            | "continue"
            | "default"
            | "do"
            | "else"
            | "false"
            | "finally"
            | "for"
            | "function"
            | "if"
            | "in"
            | "instanceof"
            | "new"
            | "null"
            | "return"
            | "switch"
            | "this"
            | "throw"
            | "true"
            | "try"
            | "typeof"
            | "var"
            | "void"
            | "while"
            | "with"
    )
}
