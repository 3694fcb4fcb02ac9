//! Decisions that programs ask for, without a process.

use std::sync::Arc;

use travertine_dmn::{EvaluatedColumn, EvaluatedDecision, LogicKind, MatchedRule};
use travertine_kernel::{Assignments, check_variables};
use travertine_value::{Limits, Map, Name, Value};

use super::{Engine, Pending, Target};
use crate::{
    DecisionDefinition, DefinitionKey, Definitions, Deployed, DeployedKind, Error, Timestamp,
};

/// What came of a decision.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # use travertine_runtime::engine::Decided;
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let decided: Decided = engine.decide("discount", vec![("cents".into(), 1_200.into())]).await?;
/// match &decided.failed {
///     None => println!("{}", decided.output),
///     Some(failed) => println!("{} cannot be made: {}", failed.decision, failed.message),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decided {
    /// The decision.
    pub decision: DecisionOf,
    /// The decision requirements graph that it is part of; `None` where the store is older than these.
    pub requirements: Option<Arc<Deployed>>,
    /// Its output; null where it failed.
    pub output: Value,
    /// Every decision that was evaluated for it, in the order in which they were done; itself last.
    pub evaluated: Vec<Evaluated>,
    /// Which decision could not be made, and why.
    pub failed: Option<FailedDecision>,
}

/// Which version of a decision.
///
/// ```
/// # use travertine_runtime::engine::DecisionOf;
/// fn in_words(it: &DecisionOf) -> String {
///     format!("{} version {}", it.id, it.version)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionOf {
    /// Its key; 0 where the store is older than decisions with versions.
    pub key: DefinitionKey,
    /// Its id.
    pub id: Name,
    /// What people call it.
    pub name: Option<Name>,
    /// Which version, from 1.
    pub version: u32,
}

/// A decision that could not be made.
///
/// ```
/// # use travertine_runtime::engine::FailedDecision;
/// let failed = FailedDecision { decision: "discount".into(), message: "no rule matches".into() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedDecision {
    /// Its id.
    pub decision: Name,
    /// What went wrong.
    pub message: String,
}

/// A decision that was evaluated.
///
/// ```
/// # use travertine_runtime::engine::Evaluated;
/// fn rules(it: &Evaluated) -> Vec<usize> {
///     it.rules.iter().map(|it| it.index).collect()
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluated {
    /// The decision.
    pub decision: DecisionOf,
    /// How it is made.
    pub made_by: MadeBy,
    /// Its output.
    pub output: Value,
    /// The values of the inputs of its table.
    pub inputs: Vec<EvaluatedValue>,
    /// The rules of its table that matched and count for the output, in the order in which they count.
    pub rules: Vec<EvaluatedRule>,
}

/// How a decision is made.
///
/// ```
/// # use travertine_runtime::engine::MadeBy;
/// assert_ne!(MadeBy::Table, MadeBy::Literal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MadeBy {
    /// A decision table.
    Table,
    /// A literal expression.
    Literal,
    /// A context.
    Context,
    /// The invocation of something else.
    Invocation,
    /// A list.
    List,
    /// A relation.
    Relation,
    /// Any other expression.
    Other,
}

/// A rule that matched.
///
/// ```
/// # use travertine_runtime::engine::EvaluatedRule;
/// fn is_first(it: &EvaluatedRule) -> bool {
///     it.index == 1
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedRule {
    /// Its id in the model, where it has one.
    pub id: Option<Name>,
    /// Where it stands in its table, from 1.
    pub index: usize,
    /// The values of its outputs.
    pub outputs: Vec<EvaluatedValue>,
}

/// The value of an input or an output of a table.
///
/// ```
/// # use travertine_runtime::engine::EvaluatedValue;
/// let cents = EvaluatedValue { id: None, name: "cents".into(), value: 1_200.into() };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedValue {
    /// The id of the input or output in the model, where it has one.
    pub id: Option<Name>,
    /// What people call it.
    pub name: Name,
    /// The value.
    pub value: Value,
}

impl Engine {
    /// Makes a decision: of its latest version where only an id is named, or of one version, tag or key. It
    /// is worked out on a thread beside, within the limits that scripts have, and nothing is written down. A
    /// decision that cannot be made is an answer, which says which one failed and why.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # use travertine_runtime::engine::Target;
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let given = vec![("cents".into(), 1_200.into())];
    /// let latest = engine.decide("discount", given.clone()).await?;
    /// let first = engine.decide(Target::Version("discount".into(), 1), given).await?;
    /// println!("{} and {}", latest.output, first.output);
    /// # Ok(()) }
    /// ```
    pub fn decide(&self, decision: impl Into<Target>, variables: Assignments) -> Pending<Decided> {
        let limits = self.inner.decision_limits;
        if let Err(error) = check_variables(&variables, &limits) {
            return Pending::refused(error);
        }
        let definitions = self.definitions();
        match find(&definitions, &decision.into()) {
            Ok(found) => {
                let now = self.now();
                let decide = move || decide(&definitions, &found, variables, &limits, now);
                self.spawn_blocking(move |_| Ok(decide()))
            }
            Err(error) => Pending::refused(error),
        }
    }
}

/// The version of a decision that is meant. What is retired is made no more.
fn find(definitions: &Definitions, target: &Target) -> Result<Arc<DecisionDefinition>, Error> {
    let is_there = |it: &&Arc<DecisionDefinition>| !definitions.is_retired(it.key);
    let all = |id: &str| definitions.decision_versions(id).iter().rev().filter(is_there);
    let (found, what) = match target {
        Target::Latest(id) => (definitions.decision(id), id.to_string()),
        Target::Version(id, version) => {
            (all(id).find(|it| it.version == *version), format!("{id} version {version}"))
        }
        Target::Tag(id, tag) => {
            (all(id).find(|it| it.tag.as_ref() == Some(tag)), format!("{id} tagged {tag}"))
        }
        Target::Key(key) => {
            let known =
                definitions.deployed_as(*key).filter(|it| it.kind == DeployedKind::Decision);
            (known.and_then(|it| all(&it.id).find(|it| it.key == *key)), format!("key {key}"))
        }
    };
    found.map(Arc::clone).ok_or_else(|| Error::no_such_definition(&format!("decision {what}")))
}

fn decide(
    definitions: &Definitions,
    decision: &DecisionDefinition,
    variables: Assignments,
    limits: &Limits,
    now: Timestamp,
) -> Decided {
    let own = decision_of(decision);
    let row = definitions.deployed_as(decision.key);
    let graph = row.and_then(|it| it.requirements).and_then(|it| definitions.deployed_as(it));
    let mut decided = Decided {
        decision: own.clone(),
        requirements: graph.map(Arc::clone),
        output: Value::Null,
        evaluated: Vec::new(),
        failed: None,
    };
    let failed = |decision: &Name, message: String| {
        Some(FailedDecision { decision: Name::clone(decision), message })
    };
    let model = match decision.model() {
        Ok(model) => model,
        Err(why) => {
            decided.failed = failed(&own.id, why);
            return decided;
        }
    };
    let given: Map = variables.into_iter().collect();
    let result = match model.decide(&own.id, &given, Some(now), limits) {
        Ok(result) => result,
        Err(error) => {
            decided.failed = failed(&own.id, error.to_string());
            return decided;
        }
    };
    let known = |it: &EvaluatedDecision| {
        // What it requires was deployed with it, or before.
        let id = it.id.as_deref()?;
        let found = definitions.bound_decision(id, Some("deployment"), decision.deployment)?;
        Some(decision_of(found))
    };
    for it in &result.decisions {
        let own_one = (it.id.as_deref() == Some(&*own.id)).then(|| own.clone());
        let unknown = || {
            let id = it.id.as_deref().map_or_else(|| Name::clone(&it.name), Name::from);
            let (name, version) = (Some(Name::clone(&it.name)), decision.version);
            DecisionOf { key: DefinitionKey::NONE, id, name, version }
        };
        let of = own_one.or_else(|| known(it)).unwrap_or_else(unknown);
        decided.evaluated.push(evaluated(it, of));
    }
    // A decision that fell through must not look like one that was made.
    if result.value.is_null()
        && let Some(problem) = result.problems.first()
    {
        let is_it = |it: &&EvaluatedDecision| Some(&it.name) == problem.decision.as_ref();
        let at = result.decisions.iter().find(is_it).and_then(|it| it.id.as_deref());
        let at = at.map_or_else(|| Name::clone(&own.id), Name::from);
        decided.failed = failed(&at, problem.to_string());
        return decided;
    }
    decided.output = result.value.to_value();
    decided
}

fn decision_of(it: &DecisionDefinition) -> DecisionOf {
    DecisionOf { key: it.key, id: Name::clone(&it.id), name: it.name(), version: it.version }
}

fn evaluated(it: &EvaluatedDecision, decision: DecisionOf) -> Evaluated {
    // Its own table is done last, after those of the functions that it calls.
    let table = it.tables.last().filter(|_| it.logic == LogicKind::Table);
    let rule = |it: &MatchedRule| EvaluatedRule {
        id: it.id.clone(),
        index: it.number,
        outputs: it.outputs.iter().map(value).collect(),
    };
    let made_by = match it.logic {
        LogicKind::Table => MadeBy::Table,
        LogicKind::Literal => MadeBy::Literal,
        LogicKind::Context => MadeBy::Context,
        LogicKind::Invocation => MadeBy::Invocation,
        LogicKind::List => MadeBy::List,
        LogicKind::Relation => MadeBy::Relation,
        LogicKind::Other => MadeBy::Other,
    };
    Evaluated {
        decision,
        made_by,
        output: it.value.to_value(),
        inputs: table.map_or_else(Vec::new, |it| it.inputs.iter().map(value).collect()),
        rules: table.map_or_else(Vec::new, |it| it.rules.iter().map(rule).collect()),
    }
}

fn value(it: &EvaluatedColumn) -> EvaluatedValue {
    let EvaluatedColumn { id, name, value } = it;
    EvaluatedValue { id: id.clone(), name: Name::clone(name), value: value.to_value() }
}
