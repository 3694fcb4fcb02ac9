//! Promises about deployments.

use travertine_store::{DefinitionKey, Deployed, Deployment, Error, Resource, Store};
use travertine_value::Name;

use super::{Promise, rows::time};

pub(super) const PROMISES: &[Promise] = &[
    ("deployments are read back in order", reads_back),
    ("a deployment with anything used already is refused whole", conflicts),
    ("removing takes away what nothing needs, and keeps numbers taken", removes),
    ("files of decisions stay while a decision may import them", keeps_imported),
    ("files of decisions that are not listed stay", keeps_unlisted),
    ("removing what is not there is fine", removes_nothing),
    ("the revision grows when something is deployed or removed, and only then", revisions),
    ("deployments of any names are kept", any_names),
    ("the file of a definition is found by its key", finds_files),
    ("what is retired stays, and is said to be retired", retires),
];

fn deployed(key: u64, id: &str, version: u32, resource: u32) -> Deployed {
    Deployed {
        key: DefinitionKey(key),
        id: Name::from(id),
        version,
        tag: None,
        resource,
        removed: false,
        retired: false,
    }
}

fn file(name: &str) -> Resource {
    Resource { name: name.to_owned(), body: format!("<{name}/>").into_bytes() }
}

fn two() -> [Deployment; 2] {
    let first = Deployment {
        number: 1,
        at: time(100),
        resources: vec![file("a"), file("form"), file("b")],
        definitions: vec![
            deployed(1, "order", 1, 0),
            Deployed { tag: Some(Name::from("stable")), ..deployed(2, "refund", 1, 2) },
            deployed(3, "return", 1, 2),
        ],
    };
    let second = Deployment {
        number: 2,
        at: time(200),
        resources: vec![file("c")],
        definitions: vec![deployed(4, "order", 2, 0)],
    };
    [first, second]
}

fn revisions(store: &dyn Store) {
    let before = store.revision().unwrap();
    let [first, second] = two();
    store.deploy(&first).unwrap();
    let one = store.revision().unwrap();
    assert!(one > before);
    assert!(store.deploy(&first).is_err());
    store.take(travertine_store::ShardId(0), "a").unwrap();
    assert_eq!(store.revision().unwrap(), one);
    store.deploy(&second).unwrap();
    let two = store.revision().unwrap();
    assert!(two > one);
    store.undeploy(&[DefinitionKey(99)]).unwrap();
    assert_eq!(store.revision().unwrap(), two);
    store.undeploy(&[DefinitionKey(1)]).unwrap();
    let three = store.revision().unwrap();
    assert!(three > two);
    store.undeploy(&[DefinitionKey(1)]).unwrap();
    assert_eq!(store.revision().unwrap(), three);
}

fn any_names(store: &dyn Store) {
    let names = ["a", "a\0", "a\0b", "", "\u{10ffff} '\""];
    let definitions = (1..)
        .zip(names)
        .map(|(key, name)| Deployed { tag: Some(Name::from(name)), ..deployed(key, name, 1, 0) });
    let resources = names.map(file).to_vec();
    let all = Deployment { number: 1, at: time(1), resources, definitions: definitions.collect() };
    store.deploy(&all).unwrap();
    assert_eq!(store.deployments(0).unwrap(), [all]);
}

fn deploy_two(store: &dyn Store) -> [Deployment; 2] {
    let both = two();
    for it in &both {
        store.deploy(it).unwrap();
    }
    both
}

fn reads_back(store: &dyn Store) {
    let both = deploy_two(store);
    assert_eq!(store.deployments(0).unwrap(), both);
    assert_eq!(store.deployments(1).unwrap(), both[1..]);
    assert_eq!(store.deployments(2).unwrap(), []);
    assert_eq!(store.deployments(u64::MAX).unwrap(), []);
}

fn conflicts(store: &dyn Store) {
    let both = deploy_two(store);
    let new = |number, definitions: &[Deployed]| Deployment {
        number,
        at: time(300),
        resources: vec![file("d")],
        definitions: definitions.to_vec(),
    };
    for wrong in [
        new(2, &[deployed(9, "other", 1, 0)]),
        new(3, &[deployed(9, "other", 1, 0), deployed(4, "another", 1, 0)]),
        new(3, &[deployed(9, "other", 1, 0), deployed(10, "order", 2, 0)]),
        new(3, &[deployed(9, "other", 1, 0), deployed(9, "another", 1, 0)]),
        new(3, &[deployed(9, "other", 1, 0), deployed(10, "other", 1, 0)]),
    ] {
        let refused = store.deploy(&wrong);
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    }
    assert_eq!(store.deployments(0).unwrap(), both);
    store.deploy(&new(3, &[deployed(9, "order", 3, 0)])).unwrap();
}

fn removes(store: &dyn Store) {
    let [mut first, mut second] = deploy_two(store);
    let gone = |it: &mut Deployed| {
        it.removed = true;
        it.resource = 0;
    };
    // The file that another definition is in stays.
    store.undeploy(&[DefinitionKey(2)]).unwrap();
    gone(&mut first.definitions[1]);
    assert_eq!(store.deployments(0).unwrap(), [first.clone(), second.clone()]);
    // A file that nothing is in any more goes, and positions follow; others may still be needed.
    store.undeploy(&[DefinitionKey(1), DefinitionKey(4)]).unwrap();
    gone(&mut first.definitions[0]);
    first.resources.remove(0);
    first.definitions[2].resource = 1;
    gone(&mut second.definitions[0]);
    second.resources.clear();
    assert_eq!(store.deployments(0).unwrap(), [first.clone(), second.clone()]);
    // With the last definition all files go.
    store.undeploy(&[DefinitionKey(3)]).unwrap();
    gone(&mut first.definitions[2]);
    first.resources.clear();
    assert_eq!(store.deployments(0).unwrap(), [first, second]);
    let again = Deployment {
        number: 3,
        at: time(300),
        resources: vec![file("c")],
        definitions: vec![deployed(5, "order", 2, 0)],
    };
    assert!(matches!(store.deploy(&again), Err(Error::Conflict { .. })));
}

fn keeps_imported(store: &dyn Store) {
    let decision = |key: u64, id: &str, resource| {
        deployed(key, &format!("{}{id}", Deployed::DECISION), 1, resource)
    };
    let all = vec![deployed(1, "order", 1, 0), decision(2, "order", 1), decision(3, "tax", 2)];
    let mut deployment = Deployment {
        number: 1,
        at: time(100),
        resources: vec![file("order.bpmn"), file("order.dmn"), file("tax.dmn")],
        definitions: all,
    };
    store.deploy(&deployment).unwrap();
    store.undeploy(&[DefinitionKey(2)]).unwrap();
    deployment.definitions[1] = Deployed { removed: true, ..decision(2, "order", 0) };
    assert_eq!(store.deployments(0).unwrap(), [deployment]);
    store.undeploy(&[DefinitionKey(1), DefinitionKey(3)]).unwrap();
    assert!(store.deployments(0).unwrap()[0].resources.is_empty());
}

fn keeps_unlisted(store: &dyn Store) {
    let deployment = Deployment {
        number: 1,
        at: time(100),
        resources: vec![file("a.bpmn"), file("rules.DMN"), file("b.bpmn")],
        definitions: vec![deployed(1, "order", 1, 0)],
    };
    store.deploy(&deployment).unwrap();
    store.undeploy(&[DefinitionKey(1)]).unwrap();
    assert_eq!(store.deployments(0).unwrap()[0].resources, [file("rules.DMN")]);
}

fn removes_nothing(store: &dyn Store) {
    let both = deploy_two(store);
    store.undeploy(&[]).unwrap();
    store.undeploy(&[DefinitionKey(77), DefinitionKey(u64::MAX)]).unwrap();
    assert_eq!(store.deployments(0).unwrap(), both);
}

fn finds_files(store: &dyn Store) {
    deploy_two(store);
    let found = |key| store.resource(DefinitionKey(key)).unwrap().map(|it| it.name);
    let name = |it: &str| Some(it.to_owned());
    assert_eq!([1, 2, 3, 4].map(found), [name("a"), name("b"), name("b"), name("c")]);
    assert_eq!([0, 9, u64::MAX].map(found), [None, None, None]);
    store.undeploy(&[DefinitionKey(1)]).unwrap();
    assert_eq!([1, 2, 4].map(found), [None, name("b"), name("c")]);
}

fn retires(store: &dyn Store) {
    let [mut first, second] = deploy_two(store);
    let before = store.revision().unwrap();
    store.retire(&[DefinitionKey(2), DefinitionKey(77)]).unwrap();
    first.definitions[1].retired = true;
    assert_eq!(store.deployments(0).unwrap(), [first.clone(), second.clone()]);
    assert_eq!(store.resource(DefinitionKey(2)).unwrap(), Some(file("b")));
    let once = store.revision().unwrap();
    assert!(once > before);
    store.retire(&[DefinitionKey(2)]).unwrap();
    store.retire(&[DefinitionKey(77)]).unwrap();
    assert_eq!(store.revision().unwrap(), once);
    // What was removed is not retired any more.
    store.undeploy(&[DefinitionKey(2)]).unwrap();
    store.retire(&[DefinitionKey(2)]).unwrap();
    first.definitions[1] = Deployed { removed: true, resource: 0, ..first.definitions[1].clone() };
    first.definitions[1].retired = false;
    assert_eq!(store.deployments(0).unwrap(), [first, second]);
}
