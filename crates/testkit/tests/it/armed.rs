//! Events of which one cannot be waited for: all of them are armed once it can, and none of them twice.

use travertine_testkit::Scenario;

const SOON: &str = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>";
const WRONG: &str =
    "<timerEventDefinition><timeDuration>${due}</timeDuration></timerEventDefinition>";

/// Starts it, with a timer that is no time; then mends that and has it tried again. Answers with what waits before
/// and after.
fn mended(inside: &str, at: &str) -> (Vec<String>, Vec<String>, Scenario) {
    let mut it = Scenario::process(inside);
    it.start(r#"{"due": "tomorrow or so"}"#);
    let failure = it.incident(at).expect("it cannot wait");
    assert!(failure.message.contains("is no time"), "{}", failure.message);
    let waiting = |it: &Scenario| it.armed().into_iter().map(str::to_owned).collect();
    let before = waiting(&it);
    // Trying again what is still wrong changes nothing.
    it.retry(at);
    assert_eq!(waiting(&it), before);
    it.set(r#"{"due": "PT2H"}"#);
    it.retry(at);
    assert!(it.incident(at).is_none());
    (before, waiting(&it), it)
}

#[test]
fn an_activity_that_is_tried_again_arms_all_of_its_boundary_events() {
    let boundary = |id: &str, timer: &str| {
        format!(r#"<boundaryEvent id="{id}" attachedToRef="a">{timer}</boundaryEvent>"#)
    };
    let inside = format!(
        r#"<startEvent id="start"/> <userTask id="a"/> {}{}{}
        <endEvent id="end"/> <path>start a end</path> <path>first end</path> <path>wrong end</path>
        <path>last end</path>"#,
        boundary("first", SOON),
        boundary("wrong", WRONG),
        boundary("last", SOON)
    );
    let (before, after, it) = mended(&inside, "a");
    assert_eq!(before, Vec::<String>::new());
    assert_eq!(after, ["a", "first", "last", "wrong"]);
    assert_eq!(it.tokens_at("first").len(), 1);
}

#[test]
fn an_event_based_gateway_that_is_tried_again_arms_each_event_once() {
    let catch = |id: &str, timer: &str| {
        format!(r#"<intermediateCatchEvent id="{id}">{timer}</intermediateCatchEvent>"#)
    };
    let inside = format!(
        r#"<startEvent id="start"/> <eventBasedGateway id="race"/> {}{}
        <endEvent id="end"/> <path>start race first end</path> <path>race wrong end</path>"#,
        catch("first", SOON),
        catch("wrong", WRONG)
    );
    let (before, after, mut it) = mended(&inside, "race");
    assert_eq!((before, after), (vec![], vec!["first".to_owned(), "wrong".to_owned()]));
    it.complete("first", "{}");
    assert!(it.is_completed());
}

#[test]
fn an_event_with_several_triggers_waits_for_all_of_them_or_for_none() {
    let inside = format!(
        r#"<startEvent id="start"/> <intermediateCatchEvent id="any">{SOON}{WRONG}</intermediateCatchEvent>
        <endEvent id="end"/> <path>start any end</path>"#
    );
    let (before, after, _) = mended(&inside, "any");
    assert_eq!((before, after), (vec![], vec!["any".to_owned(), "any".to_owned()]));
}

fn event_sub_process(id: &str, timer: &str) -> String {
    format!(
        r#"<subProcess id="{id}" triggeredByEvent="true"><startEvent id="{id}-start" isInterrupting="false">{timer}
        </startEvent><endEvent id="{id}-end"/><path>{id}-start {id}-end</path></subProcess>"#
    )
}

#[test]
fn a_sub_process_that_is_tried_again_arms_each_event_sub_process_once() {
    let inside = format!(
        r#"<startEvent id="start"/> <subProcess id="sub">{}{}<startEvent id="in"/><userTask id="a"/>
        <endEvent id="out"/><path>in a out</path></subProcess>
        <endEvent id="end"/> <path>start sub end</path>"#,
        event_sub_process("first", SOON),
        event_sub_process("wrong", WRONG)
    );
    let (before, after, mut it) = mended(&inside, "sub");
    assert_eq!(before, Vec::<String>::new());
    assert_eq!(after, ["a", "first-start", "wrong-start"]);
    it.complete("a", "{}");
    assert!(it.is_completed());
}

#[test]
fn a_process_whose_event_sub_process_cannot_wait_begins_once_it_can() {
    let inside = format!(
        r#"{}{}<startEvent id="start"/> <userTask id="a"/> <endEvent id="end"/> <path>start a end</path>"#,
        event_sub_process("first", SOON),
        event_sub_process("wrong", WRONG)
    );
    let (before, after, mut it) = mended(&inside, "p");
    assert_eq!(before, Vec::<String>::new());
    assert_eq!(after, ["a", "first-start", "wrong-start"]);
    it.complete("a", "{}");
    assert!(it.is_completed());
}
