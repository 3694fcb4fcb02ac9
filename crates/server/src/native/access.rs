//! Who there is and what they may do: users, groups, API keys, and the audit; and who it is that asks.

use travertine_data::json;
use travertine_value::{Name, Value};

use super::{
    call::{Answer, Call},
    decisions,
    problem::Problem,
};
use crate::{
    AccountError, Accounts, Grant, Permission,
    access::{Reach, Wanted},
    desk::{ANONYMOUS, Outcome, Refusal, off_the_executor},
};

/// The most lines of the audit in one answer.
const AUDIT_MAX: u32 = 1_000;

/// Who asks, and which permissions they have: for `all` that there is, or for `some` of it.
pub(super) async fn me(call: Call) -> Result<Answer, Problem> {
    let principal = &call.principal;
    let reached = |it: Permission| match principal.grants.reach(it) {
        Reach::Everything => Some("all"),
        some if some.is_nothing() => None,
        Reach::Only(_) => Some("some"),
    };
    let permissions: Value = Permission::ALL
        .into_iter()
        .filter_map(|it| Some((Name::from(it.name()), Value::from(reached(it)?))))
        .collect();
    Ok(Answer::Document(json::object([
        ("name", principal.name.clone().into()),
        ("groups", texts(&principal.groups)),
        // Where there are no accounts, nobody is asked who they are.
        ("login", principal.name.is_some().into()),
        ("permissions", permissions),
    ])))
}

/// All users, groups and keys, without what is secret of them.
pub(super) async fn all(call: Call) -> Result<Answer, Problem> {
    with(&call, |accounts, _| listed(accounts)).await
}

/// Makes a user, or changes the one of this name.
pub(super) async fn put_user(call: Call) -> Result<Answer, Problem> {
    let name = call.path("user").to_owned();
    let wanted = Wanted {
        password: call.text("password")?.map(|it| it.to_string()),
        groups: call.field("groups").is_some().then(|| call.texts("groups")).transpose()?,
        grants: call.field("grants").is_some().then(|| grants(&call)).transpose()?,
        disabled: call.field("disabled").is_some().then(|| call.yes("disabled")).transpose()?,
    };
    with(&call, move |accounts, by| {
        accounts.put_user(&name, &wanted, by)?;
        changed(accounts)
    })
    .await
}

pub(super) async fn remove_user(call: Call) -> Result<Answer, Problem> {
    let name = call.path("user").to_owned();
    with(&call, move |accounts, by| {
        accounts.remove_user(&name, by)?;
        changed(accounts)
    })
    .await
}

/// Says what a group is granted. A group is there as long as it has members or grants.
pub(super) async fn put_group(call: Call) -> Result<Answer, Problem> {
    let name = call.path("group").to_owned();
    let wanted = grants(&call)?;
    with(&call, move |accounts, by| {
        accounts.put_group(&name, &wanted, by)?;
        changed(accounts)
    })
    .await
}

/// Draws an API key. Its text is in this answer and never again.
pub(super) async fn add_key(call: Call) -> Result<Answer, Problem> {
    let id = call.path("key").to_owned();
    let granted = grants(&call)?;
    let expires = call.text("expires")?.map(|it| decisions::moment(&it)).transpose()?;
    with(&call, move |accounts, by| {
        let text = accounts.add_key_for(&id, expires, &granted, by)?;
        Ok(json::object([
            ("key", id.as_str().into()),
            ("secret", text.into()),
            ("expires", expires.map(|it| it.to_string()).into()),
            ("grants", granted.iter().map(|it| it.to_string().into()).collect::<Vec<_>>().into()),
        ]))
    })
    .await
}

pub(super) async fn remove_key(call: Call) -> Result<Answer, Problem> {
    let id = call.path("key").to_owned();
    with(&call, move |accounts, by| {
        accounts.remove_key(&id, by)?;
        changed(accounts)
    })
    .await
}

/// What was tried, refused and changed, the newest first.
pub(super) async fn audit(call: Call) -> Result<Answer, Problem> {
    let (before, limit) = (call.whole("before")?, call.number("limit", 50, AUDIT_MAX)?);
    with(&call, move |accounts, _| {
        let all = accounts.audited(before, limit)?;
        let full = all.len() == limit as usize;
        let next = all.last().filter(|_| full).map(|it| it.seq.to_string());
        let rows = all.iter().map(|it| {
            json::object([
                ("seq", it.seq.to_string().into()),
                ("time", it.at.to_string().into()),
                ("who", it.who.clone().into()),
                ("what", Name::clone(&it.what).into()),
                ("about", Name::clone(&it.about).into()),
                ("times", json::key(it.times)),
            ])
        });
        Ok(json::object([("audit", rows.collect::<Vec<_>>().into()), ("next", next.into())]))
    })
    .await
}

/// Why something cannot be done with accounts.
struct Wrong(Refusal);

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<AccountError> for Wrong {
    fn from(error: AccountError) -> Self {
        let text = error.to_string();
        Self(match error {
            AccountError::NoSuch { .. } => Refusal::not_found(text),
            AccountError::Exists { .. } => Refusal::new(Outcome::AlreadyExists, text),
            AccountError::File { .. } => Refusal::new(Outcome::Internal, text),
            _ => Refusal::invalid(text),
        })
    }
}

/// Does something with the accounts of this server, for somebody who may do everything about it.
async fn with(
    call: &Call,
    act: impl FnOnce(&Accounts, &str) -> Result<Value, Wrong> + Send + 'static,
) -> Result<Answer, Problem> {
    call.desk.may_all()?;
    let principal = &call.principal;
    let path = principal.audit.as_ref().and_then(|it| it.path()).ok_or_else(|| {
        let detail = "this server has no file of accounts: those of its configuration are all";
        Refusal::new(Outcome::InvalidState, detail)
    })?;
    let (path, by) = (path.to_owned(), principal.name.clone().unwrap_or_else(|| ANONYMOUS.into()));
    let done = off_the_executor(move || {
        let told = Accounts::open(&path).map_err(Wrong::from).and_then(|it| act(&it, &by));
        told.map_err(|it| it.0)
    });
    Ok(Answer::Document(done.await?))
}

/// All of them, once something was changed.
fn changed(accounts: &Accounts) -> Result<Value, Wrong> {
    listed(accounts).map_err(|Wrong(it)| Wrong(it.once_done()))
}

fn listed(accounts: &Accounts) -> Result<Value, Wrong> {
    let granted = |all: &[Grant]| -> Value {
        all.iter().map(|it| Value::from(it.to_string())).collect::<Vec<_>>().into()
    };
    let users = accounts.users()?;
    let users = users.iter().map(|it| {
        json::object([
            ("user", Name::clone(&it.name).into()),
            ("disabled", it.disabled.into()),
            ("created", it.created.to_string().into()),
            ("groups", texts(&it.groups)),
            ("grants", granted(&it.grants)),
        ])
    });
    let users: Vec<Value> = users.collect();
    let groups = accounts.groups()?;
    let groups = groups.iter().map(|it| {
        json::object([
            ("group", Name::clone(&it.name).into()),
            ("users", texts(&it.users)),
            ("grants", granted(&it.grants)),
        ])
    });
    let groups: Vec<Value> = groups.collect();
    let keys = accounts.keys()?;
    let keys = keys.iter().map(|it| {
        json::object([
            ("key", Name::clone(&it.id).into()),
            ("created", it.created.to_string().into()),
            ("expires", it.expires.map(|it| it.to_string()).into()),
            ("grants", granted(&it.grants)),
        ])
    });
    let keys: Vec<Value> = keys.collect();
    Ok(json::object([("users", users.into()), ("groups", groups.into()), ("keys", keys.into())]))
}

fn texts(all: &[Name]) -> Value {
    all.iter().map(|it| Value::from(Name::clone(it))).collect::<Vec<_>>().into()
}

fn grants(call: &Call) -> Result<Vec<Grant>, Problem> {
    let read =
        |it: Name| it.parse::<Grant>().map_err(|error| Refusal::invalid(error.to_string()).into());
    call.texts("grants")?.into_iter().map(read).collect()
}
