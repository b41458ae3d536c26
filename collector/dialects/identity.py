"""Who: session, user, agent and task keys of all conventions, in one order of trust."""

from trailhound.collector.dialects.base import Dialect

DIALECT = Dialect(
    name="identity",
    order=0,
    fields={
        "session": (
            "gen_ai.conversation.id",
            "session.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "traceloop.association.properties.conversation_id",
            "langsmith.metadata.session_id",
            "langsmith.metadata.thread_id",
            "langsmith.metadata.conversation_id",
            "langsmith.metadata.sessionId",
            "gcp.vertex.agent.session_id",
            "lmnr.association.properties.metadata.openai.agents.group_id",
            "ai.telemetry.metadata.sessionId",
            "ai.telemetry.metadata.session_id",
            "ai.settings.context.sessionId",
            "lmnr.association.properties.session_id",
            "langfuse.observation.metadata.langfuse_session_id",
            "langfuse.observation.metadata.thread_id",
            "anthropic.session.id",
            "lk.room_sid",
            "lk.job_id",
        ),
        "user": (
            "user.id",
            "enduser.id",
            "langfuse.user.id",
            "gen_ai.user",
            "llm.user",
            "traceloop.association.properties.user_id",
            "ai.telemetry.metadata.userId",
            "ai.telemetry.metadata.user_id",
            "lmnr.association.properties.user_id",
            "litellm.end_user.id",
        ),
        "agent": ("gen_ai.agent.name", "agent.name", "lk.agent_name", "lk.agent_label", "gen_ai.capability.name"),
        "agent_id": ("gen_ai.agent.id",),
    },
)
