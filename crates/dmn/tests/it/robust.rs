//! Models that are broken in any way are refused or evaluated, but never the end of it.

use travertine_dmn::read;
use travertine_lang::feel::{Context, Settings};

const MODELS: [&str; 4] = [
    include_str!("../../../../examples/shipping.dmn"),
    include_str!("../../../../conformance/decisions/boxed-expressions/boxed-expressions.dmn"),
    include_str!("../../../../conformance/decisions/functions/functions.dmn"),
    include_str!("../../../../conformance/decisions/types/types.dmn"),
];

fn try_all(text: &str) {
    let report = read(&[("m.dmn", text.as_bytes())]);
    assert_eq!(
        report.is_rejected(),
        report.diagnostics.iter().any(|it| it.severity == travertine_dmn::Severity::Error)
    );
    let Some(definitions) = report.definitions else { return };
    for invocable in definitions.invocables() {
        drop(definitions.evaluate(&invocable.name, &Context::default(), &Settings::default()));
    }
}

/// Each element and each attribute left out, one after the other.
#[test]
fn anything_may_be_missing() {
    for model in MODELS {
        for (begin, _) in model.match_indices('<') {
            let Some(length) = model[begin..].find('>') else { continue };
            let tag = &model[begin..=begin + length];
            try_all(&model.replacen(tag, "", 1));
            for (at, _) in tag.match_indices("=\"") {
                let end = tag[at + 2..].find('"').map_or(tag.len(), |it| at + 2 + it);
                let changed = format!("{}{}", &tag[..at + 2], &tag[end..]);
                try_all(&model.replacen(tag, &changed, 1));
            }
        }
    }
}

/// Each text replaced by something else that is or is not FEEL.
#[test]
fn any_text_may_be_nonsense() {
    for model in MODELS {
        for (begin, _) in model.match_indices("<text>") {
            let Some(length) = model[begin..].find("</text>") else { continue };
            for text in ["", "-", "null", "[", "\"", "?", "1..", "item", "function(x) x", "{a: 1}"]
            {
                let (before, after) = (&model[..begin + 6], &model[begin + length..]);
                try_all(&format!("{before}{text}{after}"));
            }
        }
    }
}
