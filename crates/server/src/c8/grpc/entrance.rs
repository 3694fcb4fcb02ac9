//! The table of all calls, and the way from a call to the desk: who asks is admitted to what the call needs.

use tonic::{Request, Status};

use crate::{
    access::{Permission, Principal},
    desk::Desk,
};

macro_rules! calls {
    ($($name:ident [$($need:ident)*];)*) => {
        /// A call, as the protocol names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::c8) enum Rpc { $($name),* }

        impl Rpc {
            /// All of them.
            pub(in crate::c8) const ALL: &[Self] = &[$(Self::$name),*];

            /// The permissions of which one is needed; everybody may who has logged in, where there is none.
            pub(super) fn needs(self) -> &'static [Permission] {
                match self { $(Self::$name => &[$(Permission::$need),*]),* }
            }

            /// What the protocol calls it.
            pub(in crate::c8) fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

calls! {
    ActivateJobs [Work];
    BroadcastSignal [Message];
    CancelProcessInstance [Operate];
    CompleteJob [Work];
    CreateProcessInstance [Start];
    CreateProcessInstanceWithResult [Start];
    DeleteResource [Deploy];
    DeployProcess [Deploy];
    DeployResource [Deploy];
    EvaluateDecision [Decide];
    FailJob [Work];
    MigrateProcessInstance [Operate];
    ModifyProcessInstance [Operate];
    PublishMessage [Message];
    ResolveIncident [Operate];
    SetVariables [Operate];
    StreamActivatedJobs [Work];
    ThrowError [Work];
    Topology [];
    UpdateJobRetries [Work Operate];
    UpdateJobTimeout [Work Operate];
}

/// The only way from calls to the desk.
#[derive(Debug)]
pub(super) struct Entrance(Desk);

impl Entrance {
    pub(super) fn new(desk: Desk) -> Self {
        Self(desk)
    }

    /// Admits whoever calls. Answers with the desk that acts for them, and with what they say.
    pub(super) fn enter<T>(&self, request: Request<T>, rpc: Rpc) -> Result<(Desk, T), Status> {
        let Some(principal) = request.extensions().get::<Principal>() else {
            return Err(Status::unauthenticated("nobody says who asks"));
        };
        Ok((self.0.admit(principal, rpc.needs())?, request.into_inner()))
    }
}
