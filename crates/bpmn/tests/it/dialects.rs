//! Models written for other engines.

use travertine_kernel::plan::{Element, Policy, TimerKind, Trigger, WorkKind};
use travertine_value::Program;

use crate::model::{around, element, errors, node, plan, report};

fn camunda7(text: &str) -> String {
    let declared = "xmlns:camunda='http://camunda.org/schema/1.0/bpmn' targetNamespace";
    text.replacen("targetNamespace", declared, 1)
}

fn camunda8(text: &str) -> String {
    let declared = "xmlns:zeebe='http://camunda.org/schema/zeebe/1.0' targetNamespace";
    text.replacen("targetNamespace", declared, 1)
}

#[test]
fn the_dialect_of_a_model_decides_its_policies() {
    let plain = around("<userTask id='n'/>");
    assert_eq!(plan(&plain).policy, Policy::NATIVE);
    let text = camunda7(&around("<userTask id='n' camunda:assignee='kermit'/>"));
    assert_eq!(plan(&text).policy, Policy::CAMUNDA7);
    let cloud = "xmlns:modeler='http://camunda.org/schema/modeler/1.0' \
                 modeler:executionPlatform='Camunda Cloud' targetNamespace";
    assert_eq!(plan(&plain.replacen("targetNamespace", cloud, 1)).policy, Policy::CAMUNDA8);
}

#[test]
fn a_model_for_two_engines_is_refused() {
    let text = camunda8(&camunda7(&around(
        "<serviceTask id='n' camunda:type='external' camunda:topic='t'><extensionElements>\
         <zeebe:taskDefinition type='t'/></extensionElements></serviceTask>",
    )));
    assert!(errors(&text).contains(&"TV0701"));
}

#[test]
fn camunda_7_service_tasks_become_scripts_or_jobs() {
    let script = camunda7(&around(
        "<serviceTask id='n' camunda:expression='${a + 1}' camunda:resultVariable='b'/>",
    ));
    let Element::Script { program, result } = element(&script) else { panic!() };
    assert_eq!((program.source(), result.as_deref()), ("${a + 1}", Some("b")));
    let job =
        camunda7(&around("<serviceTask id='n' camunda:type='external' camunda:topic='mail'/>"));
    let Element::Work(work) = element(&job) else { panic!() };
    assert_eq!((work.kind, work.job_type.source()), (WorkKind::Job, "\"mail\""));
    let class = camunda7(&around("<serviceTask id='n' camunda:class='org.acme.Mail'/>"));
    assert!(report(&class).diagnostics.iter().any(|it| it.code == "TV0711"));
}

#[test]
fn camunda_7_calls_pass_what_is_named() {
    let text = camunda7(&around(
        "<callActivity id='n' calledElement='other'><extensionElements>\
         <camunda:in source='a' target='b'/><camunda:in variables='all'/>\
         <camunda:out sourceExpression='${c}' target='d'/></extensionElements></callActivity>",
    ));
    let plan = plan(&text);
    let Element::Call(call) = &node(&plan, "n").element else { panic!() };
    assert_eq!((call.all_in, call.all_out), (true, false));
    let extras = node(&plan, "n").extras.as_ref().unwrap();
    assert_eq!((&*extras.inputs[0].0, extras.inputs[0].1.source()), ("b", "a"));
    assert_eq!((&*extras.outputs[0].0, extras.outputs[0].1.source()), ("d", "${c}"));
}

#[test]
fn camunda_7_parameters_can_be_lists_and_maps() {
    let text = camunda7(&around(
        "<userTask id='n'><extensionElements><camunda:inputOutput>\
         <camunda:inputParameter name='l'><camunda:list><camunda:value>a</camunda:value>\
         <camunda:value>${b}</camunda:value></camunda:list></camunda:inputParameter>\
         <camunda:inputParameter name='m'><camunda:map><camunda:entry key='k'>v</camunda:entry>\
         </camunda:map></camunda:inputParameter></camunda:inputOutput></extensionElements>\
         </userTask>",
    ));
    let plan = plan(&text);
    let inputs = &node(&plan, "n").extras.as_ref().unwrap().inputs;
    let sources: Vec<_> = inputs.iter().map(|(_, it)| it.source()).collect();
    assert_eq!(sources, ["[\"a\", ${b}]", "{k: \"v\"}"]);
}

#[test]
fn camunda_8_jobs_and_messages_are_read() {
    let job = camunda8(&around(
        "<serviceTask id='n'><extensionElements><zeebe:taskDefinition type='mail' retries='2'/>\
         <zeebe:taskHeaders><zeebe:header key='k' value='v'/></zeebe:taskHeaders>\
         <zeebe:ioMapping><zeebe:input source='=a' target='b'/></zeebe:ioMapping>\
         </extensionElements></serviceTask>",
    ));
    let plan = plan(&job);
    let Element::Work(work) = &node(&plan, "n").element else { panic!() };
    assert_eq!(work.job_type.source(), "\"mail\"");
    assert_eq!(work.retries.as_ref().map(Program::source), Some("2"));
    assert_eq!(&*work.fields[0].0, "k");
    assert_eq!(&*node(&plan, "n").extras.as_ref().unwrap().inputs[0].0, "b");
    let message = camunda8(&around("<receiveTask id='n' messageRef='m'/>").replace(
        "</definitions>",
        "<message id='m' name='paid'><extensionElements>\
             <zeebe:subscription correlationKey='=orderId'/></extensionElements></message>\
             </definitions>",
    ));
    let Element::Receive(catch) = element(&message) else { panic!() };
    let Trigger::Message(message) = &catch.triggers[0] else { panic!() };
    assert_eq!(message.name.source(), "\"paid\"");
    assert_eq!(&*message.correlation[0].0, travertine_bpmn::CORRELATION_KEY);
}

fn cycle(text: &str) -> String {
    format!(
        "<intermediateCatchEvent id='n'><timerEventDefinition><timeCycle>{text}</timeCycle>\
         </timerEventDefinition></intermediateCatchEvent>"
    )
}

#[test]
fn cron_expressions_are_cycles_in_every_dialect() {
    for text in ["0 9 * * MON-FRI", "0 0/5 * * * ?", "@daily", "0 0 9 * * * [Europe/Berlin]"] {
        for dialect in [str::to_owned, camunda7, camunda8] {
            let Element::Catch(it) = element(&dialect(&around(&cycle(text)))) else { panic!() };
            let Trigger::Timer { when, .. } = &it.triggers[0] else { panic!() };
            assert_eq!(when.source(), format!("{text:?}"));
        }
    }
}

#[test]
fn weekdays_of_cron_expressions_are_numbered_as_in_their_dialect() {
    let kind = |text: &str| {
        let Element::Catch(it) = element(text) else { panic!() };
        let Trigger::Timer { kind, .. } = it.triggers[0] else { panic!() };
        kind
    };
    let text = around(&cycle("0 0 9 ? * 1"));
    assert_eq!(kind(&text), TimerKind::Cycle);
    assert_eq!(kind(&camunda8(&text)), TimerKind::Cycle);
    assert_eq!(kind(&camunda7(&text)), TimerKind::QuartzCycle);
    let sunday = around(&cycle("0 0 9 ? * 0"));
    assert!(errors(&sunday).is_empty());
    assert_eq!(errors(&camunda7(&sunday)), ["TV0512"]);
}

#[test]
fn a_cron_expression_that_cannot_be_is_refused_with_the_reason() {
    let report = report(&around(&cycle("0 0 25 * * *")));
    let diagnostic = &report.diagnostics[0];
    assert_eq!((diagnostic.code, diagnostic.element.as_deref()), ("TV0512", Some("n")));
    assert!(
        diagnostic.message.ends_with("0 0 25 * * *: '25' is no hour (0 to 23)"),
        "{diagnostic:?}"
    );
    assert_eq!(errors(&around(&cycle("0 0 0 30 2 ?"))), ["TV0512"], "it never fires");
}

#[test]
fn the_tag_of_a_version_is_kept_with_its_plan() {
    let plain = around("<userTask id='n'/>");
    assert_eq!(plan(&plain).version_tag, None);
    let native = plain.replace("<process ", "<process tv:versionTag='v1' ");
    let seven = camunda7(&plain.replace("<process ", "<process camunda:versionTag='v1' "));
    let eight = camunda8(&plain.replace(
        "<startEvent",
        "<extensionElements><zeebe:versionTag value='v1'/></extensionElements><startEvent",
    ));
    for text in [native, seven, eight] {
        assert_eq!(plan(&text).version_tag.as_deref(), Some("v1"));
        assert!(report(&text).diagnostics.is_empty());
    }
}

#[test]
fn a_call_bound_to_a_tag_names_it() {
    let call = |tag: &str| {
        camunda8(&around(&format!(
            "<callActivity id='n'><extensionElements><zeebe:calledElement processId='q' \
             bindingType='versionTag' {tag}/></extensionElements></callActivity>"
        )))
    };
    let Element::Call(bound) = element(&call("versionTag='v1'")) else { panic!() };
    assert_eq!(bound.binding.as_deref(), Some("v1"));
    let computed = camunda7(&around(
        "<callActivity id='n' calledElement='q' camunda:calledElementBinding='versionTag' \
         camunda:calledElementVersionTag='${tag}'/>",
    ));
    let Element::Call(bound) = element(&computed) else { panic!() };
    assert_eq!(bound.binding, None);
    assert_eq!(bound.computed.unwrap().source(), "${tag}");
    assert_eq!(errors(&call("")), ["TV0719"]);
}

#[test]
fn camunda_7_says_how_often_a_job_may_fail() {
    let job = |cycle: &str| {
        camunda7(&around(&format!(
            "<serviceTask id='n' camunda:type='external' camunda:topic='t'><extensionElements>\
             <camunda:failedJobRetryTimeCycle>{cycle}</camunda:failedJobRetryTimeCycle>\
             </extensionElements></serviceTask>"
        )))
    };
    for (cycle, expected) in [("R5/PT5M", Some("5")), ("PT10M,PT17M,PT20M", Some("3"))] {
        let Element::Work(work) = element(&job(cycle)) else { panic!() };
        assert_eq!(work.retries.as_ref().map(Program::source), expected, "{cycle}");
        assert!(report(&job(cycle)).diagnostics.is_empty());
    }
    let Element::Work(work) = element(&job("${often}")) else { panic!() };
    assert!(work.retries.is_none());
    assert_eq!(report(&job("${often}")).diagnostics[0].code, "TV0720");
}

/// The help of all diagnostics of a code.
fn helps(text: &str, code: &str) -> Vec<String> {
    let found = report(text).diagnostics.into_iter().filter(|it| it.code == code);
    found.map(|it| it.help).collect()
}

#[test]
fn a_decision_without_its_file_says_to_give_the_file_along_and_nothing_else() {
    let zeebe = camunda8(&around(
        "<businessRuleTask id='n'><extensionElements><zeebe:calledDecision decisionId='d' \
         resultVariable='r' bindingType='latest'/></extensionElements></businessRuleTask>",
    ));
    let camunda = camunda7(&around(
        "<businessRuleTask id='n' camunda:decisionRef='d' camunda:resultVariable='r' \
         camunda:mapDecisionResult='singleEntry'/>",
    ));
    for text in [zeebe, camunda] {
        assert_eq!(report(&text).diagnostics.len(), 1, "{:?}", report(&text).diagnostics);
        assert!(helps(&text, "TV0720")[0].starts_with("give its DMN file"), "{text}");
    }
}

#[test]
fn beans_and_groovy_are_said_to_be_work_for_workers() {
    let bean =
        camunda7(&around("<serviceTask id='n' camunda:expression='${mailer.send(order)}'/>"));
    let groovy = camunda7(&around(
        "<scriptTask id='n' scriptFormat='groovy' camunda:resultVariable='r'><script>x</script></scriptTask>",
    ));
    for (text, code) in [(bean, "TV0503"), (groovy, "TV0502")] {
        assert!(helps(&text, code)[0].contains("external task"), "{:?}", helps(&text, code));
    }
}

#[test]
fn scripts_that_need_the_java_api_are_warned_about() {
    let listener = |script: &str| {
        camunda7(&around(&format!(
            "<userTask id='n'><extensionElements><camunda:taskListener event='create'>\
             <camunda:script scriptFormat='javascript'>{script}</camunda:script></camunda:taskListener>\
             </extensionElements></userTask>"
        )))
    };
    let codes =
        |text: &str| -> Vec<_> { report(text).diagnostics.iter().map(|it| it.code).collect() };
    assert_eq!(codes(&listener("task.execution.setVariable('a', 1)")), ["TV0728"]);
    assert_eq!(codes(&listener("execution.setVariable('a', 1)")), Vec::<&str>::new());
    for elsewhere in ["new Date()", "console.log(1)", "require('fs')", "java.lang.System.exit(0)"] {
        assert_eq!(codes(&listener(elsewhere)), ["TV0728"], "{elsewhere}");
    }
    for own in ["function print(x) {} print(1)", "a.console.log(1)", "var Date = 1", "'new Date()'"]
    {
        assert_eq!(codes(&listener(own)), Vec::<&str>::new(), "{own}");
    }
}

#[test]
fn the_engine_that_a_modeler_names_is_the_one_that_is_meant() {
    let text = camunda8(&camunda7(&around(
        "<serviceTask id='n' camunda:topic='t'><extensionElements>\
         <zeebe:taskDefinition type='t'/></extensionElements></serviceTask>",
    )));
    let cloud = "xmlns:modeler='http://camunda.org/schema/modeler/1.0' \
                 modeler:executionPlatform='Camunda Cloud' targetNamespace";
    let text = text.replacen("targetNamespace", cloud, 1);
    assert_eq!(plan(&text).policy, Policy::CAMUNDA8);
}

#[test]
fn workers_cannot_choose_the_activities_of_an_ad_hoc_sub_process() {
    let text = |extension: &str| {
        camunda8(&around(&format!(
            "<adHocSubProcess id='n'><extensionElements>{extension}</extensionElements>\
             <task id='a'/></adHocSubProcess>"
        )))
    };
    assert_eq!(errors(&text("<zeebe:taskDefinition type='agent'/>")), ["TV0722"]);
    assert_eq!(
        errors(&text("<zeebe:adHoc outputCollection='r' outputElement='=x'/>")),
        ["TV0723"; 2]
    );
    assert_eq!(errors(&text("<zeebe:adHoc activeElementsCollection='a'/>")), ["TV0725"]);
    assert_eq!(helps(&text("<zeebe:versionTag value='1'/>"), "TV0724").len(), 1);
}

#[test]
fn models_of_activiti_and_flowable_are_read_like_those_they_come_from() {
    for (prefix, uri, kind) in [
        ("activiti", "http://activiti.org/bpmn", "external"),
        ("flowable", "http://flowable.org/bpmn", "external-worker"),
    ] {
        let written = |body: &str| {
            let declared = format!("xmlns:v='{uri}' targetNamespace");
            around(body).replacen("targetNamespace", &declared, 1)
        };
        let job = written(&format!("<serviceTask id='n' v:type='{kind}' v:topic='mail'/>"));
        assert_eq!(plan(&job).policy, Policy::CAMUNDA7, "{prefix}");
        let Element::Work(work) = element(&job) else { panic!("{prefix}") };
        assert_eq!(work.job_type.source(), "\"mail\"");
        // What is built in there is work for somebody here, and that is said.
        let built_in = written("<serviceTask id='n' v:type='http'/>");
        let Element::Work(work) = element(&built_in) else { panic!("{prefix}") };
        assert_eq!(work.job_type.source(), "\"http\"");
        assert!(report(&built_in).diagnostics.iter().any(|it| it.code == "TV0711"));
        let unknown = written("<userTask id='n' v:skipExpression='${true}'/>");
        let found = report(&unknown).diagnostics;
        let ignored = found.iter().find(|it| it.code == "TV0702").expect("a warning");
        assert_eq!(ignored.severity, travertine_bpmn::Severity::Warning);
    }
}

#[test]
fn what_other_engines_would_execute_is_warned_about_and_what_tools_write_is_noted() {
    for (uri, severity) in [
        ("http://www.jboss.org/drools", travertine_bpmn::Severity::Warning),
        ("http://www.example.org/drawing", travertine_bpmn::Severity::Note),
    ] {
        let declared = format!("xmlns:v='{uri}' targetNamespace");
        let text = around("<userTask id='n' v:taskName='x'/>");
        let found = report(&text.replacen("targetNamespace", &declared, 1)).diagnostics;
        let ignored = found.iter().find(|it| it.code == "TV0702").expect("a diagnostic");
        assert_eq!(ignored.severity, severity, "{uri}");
    }
}
