//! Decisions against cases: our own, and those of the standard's kit where it lies beside the checkout.

use travertine_testkit::tck::{Failure, Kit, LoadError, Summary};

use crate::{root, skipped};

fn run(folder: &str) -> Result<Option<Summary>, LoadError> {
    let folder = root().join(folder);
    if folder.exists() { Kit::find(&folder)?.run(&[]).map(Some) } else { Ok(None) }
}

fn lines<'f>(failures: impl Iterator<Item = &'f Failure>) -> String {
    failures.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn our_own_decisions_are_made_as_expected() -> Result<(), LoadError> {
    let summary = run("conformance/decisions")?.expect("it is part of the checkout");
    assert_eq!(lines(summary.failures.iter()), "");
    assert!(summary.total().passed >= 53, "{}", summary.total());
    Ok(())
}

#[test]
fn the_kit_of_the_standard_passes_but_for_calls_into_java() -> Result<(), LoadError> {
    let Some(summary) = run("../shared/suites/dmn-tck")? else {
        skipped("the DMN TCK does not lie beside the checkout");
        return Ok(());
    };
    let all = lines(summary.failures.iter());
    assert_eq!(summary.levels["compliance-level-2"].failed, 0, "{all}");
    let third = summary.levels["compliance-level-3"];
    assert!(third.passed * 100 >= (third.passed + third.failed) * 99, "{all}");
    let is_java = |it: &&Failure| it.id.contains("0076-feel-external-java");
    assert_eq!(lines(summary.failures.iter().filter(|it| !is_java(it))), "");
    Ok(())
}
