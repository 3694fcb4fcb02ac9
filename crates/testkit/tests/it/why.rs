//! Why an instance waits, said in sentences.

use expect_test::expect;
use travertine_kernel::why;
use travertine_testkit::Scenario;

fn told(inside: &str, act: impl FnOnce(&mut Scenario)) -> String {
    let mut it = Scenario::definitions(&format!(
        r#"<message id="M" name="M"/> <signal id="S" name="S"/> <error id="E" errorCode="E"/>
           <process id="p" isExecutable="true">{inside}</process>"#
    ));
    it.start("{}");
    act(&mut it);
    it.why().join("\n")
}

#[test]
fn every_kind_of_wait_has_its_reason() {
    let inside = r#"
        <serviceTask id="charge" name="Charge card" tv:jobType="payments"/>
        <boundaryEvent id="late" attachedToRef="charge"><timerEventDefinition>
          <timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>
        <boundaryEvent id="failed" attachedToRef="charge"><errorEventDefinition errorRef="E"/>
        </boundaryEvent>
        <userTask id="approve"/>
        <receiveTask id="receive" messageRef="M"/>
        <intermediateCatchEvent id="hear"><signalEventDefinition signalRef="S"/>
        </intermediateCatchEvent>
        <intermediateCatchEvent id="until"><conditionalEventDefinition>
          <condition>x &gt; 3</condition></conditionalEventDefinition></intermediateCatchEvent>
        <callActivity id="call" calledElement="other"/>
        <task id="gated" tv:gate="entry"/>
        <scriptTask id="broken" scriptFormat="javascript"><script>missing.field</script></scriptTask>
        <subProcess id="sub"> <userTask id="inside">
          <multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>2</loopCardinality>
          </multiInstanceLoopCharacteristics></userTask> </subProcess>"#;
    expect![["
        p waits for 9 tokens inside
        Charge card (charge) waits for a worker of type payments, 3 retries left
        late waits until 1970-01-01T01:00:00Z
        failed waits for something raised inside
        approve waits for a person
        receive waits for message M
        hear waits for signal S
        until waits until `x > 3` holds
        call waits for the instance of other that it called
        gated waits for the decision to enter it
        broken has an incident since 1970-01-01T00:00:00Z: `missing.field`: ReferenceError: missing is not defined (line 1)
        sub waits for 1 token inside
        inside waits for 1 token inside, 0 of 2 done, 1 open
        inside #0 waits for a person"]].assert_eq(&told(inside, |_| {}));
}

#[test]
fn joins_say_whom_they_wait_for() {
    let model = |kind: &str| {
        format!(
            r#"<{kind} id="fork"/> <userTask id="a"/> <userTask id="b"/> <{kind} id="join"/> <userTask id="after"/> <path>join after</path>
               <path>fork a join</path> <path>fork b join</path>"#
        )
    };
    let one = |it: &mut Scenario| it.complete("a", "{}");
    expect![["
        p waits for 2 tokens inside
        join waits for tokens from b (flow b-join)
        b waits for a person"]]
    .assert_eq(&told(&model("parallelGateway"), one));
    expect![["
        p waits for 2 tokens inside
        join waits for whoever may still come: token 3 at b
        b waits for a person"]]
    .assert_eq(&told(&model("inclusiveGateway"), one));
}

#[test]
fn events_that_race_and_what_stays_to_undo_have_their_reasons() {
    let inside = r#"<userTask id="book"/>
        <boundaryEvent id="on" attachedToRef="book"><compensateEventDefinition/></boundaryEvent>
        <userTask id="undo" isForCompensation="true"/>
        <association id="a1" sourceRef="on" targetRef="undo" associationDirection="One"/>
        <eventBasedGateway id="race"/>
        <intermediateCatchEvent id="hear"><signalEventDefinition signalRef="S"/>
        </intermediateCatchEvent>
        <intermediateCatchEvent id="get"><messageEventDefinition messageRef="M"/>
        </intermediateCatchEvent> <path>book race hear</path> <path>race get</path>"#;
    expect![["
        p waits for 1 token inside
        race waits for the first of the events behind it
        hear waits for signal S
        get waits for message M
        on stays, should something complete have to be undone"]]
    .assert_eq(&told(inside, |it| it.complete("book", "{}")));
}

#[test]
fn a_complex_join_says_what_it_waits_for() {
    let mut it = Scenario::process(
        r#"<parallelGateway id="fork"/> <userTask id="a"/> <userTask id="b"/>
           <complexGateway id="join"><activationCondition>activationCount &gt; 1</activationCondition></complexGateway>
           <userTask id="after"/> <path>fork a join after</path> <path>fork b join</path>"#,
    );
    it.start("{}");
    it.complete("a", "{}");
    let why = it.why();
    assert!(why.iter().any(|it| it.contains("activationCount > 1")), "{why:?}");
}

#[test]
fn every_wait_is_named_by_a_reason() {
    let mut it = Scenario::definitions(
        r#"<message id="M" name="M"/><process id="p" isExecutable="true"><serviceTask id="a"/>
           <receiveTask id="b" messageRef="M"/> <task id="c" tv:gate="entry"/>
           <boundaryEvent id="late" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H</timeDuration>
           </timerEventDefinition></boundaryEvent> <userTask id="hurry"/> <path>late hurry</path></process>"#,
    );
    it.start("{}");
    let mut named: Vec<_> =
        why(&it.plan, &it.instance).iter().filter_map(|it| it.why.wait()).collect();
    named.sort();
    assert_eq!(named, it.instance.waits.keys().copied().collect::<Vec<_>>());
}
