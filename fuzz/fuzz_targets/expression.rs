//! Any text as an expression: it compiles or not, and what compiles runs within its limits. Texts of
//! JavaScript are only compiled: what they do is the business of an engine that has its own fuzzers.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use travertine_lang::{Kind, Languages, juel};
use travertine_value::{Limits, Map, Value};
use travertine_fuzz::{Counting, within};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(bytes) else { return Corpus::Reject };
    let languages = Languages::standard();
    let variables = variables();
    let limits = Limits { memory_bytes_max: 1 << 20, ..Limits::default() };
    let find = |name| languages.find(name).expect("it is a standard language");
    within(1024 * text.len() + (8 << 20), || {
        let programs = [
            find("juel").compile(Kind::Expression, text),
            juel::compile_bare(text),
            find("feel").compile(Kind::Expression, text),
        ];
        for program in programs {
            match program {
                Ok(program) => drop(program.run(&variables, &limits)),
                Err(error) => assert!(error.line > 0 && error.column > 0, "{error}"),
            }
        }
        for kind in [Kind::Expression, Kind::Script] {
            if let Err(error) = find("javascript").compile(kind, text) {
                assert!(!error.to_string().is_empty());
            }
        }
    });
    Corpus::Keep
});

fn variables() -> Map {
    let text = r#"{"a":1,"b":0.5,"s":"text","t":true,"n":null,"l":[1,"2",[3]],"m":{"a":{"b":2}}}"#;
    match Value::parse_json(text) {
        Ok(Value::Map(fields)) => (*fields).clone(),
        other => unreachable!("{other:?}"),
    }
}
