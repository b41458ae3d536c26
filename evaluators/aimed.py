"""What instructions to an agent look like inside data: one RE2 pattern a kind."""

from __future__ import annotations

from trailhound.evaluators.wordings import WORDINGS

_ALL = r"(?:all |any |every |everything |the |your |of |these |those |my |our |its )*"
_BEFORE = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|former|old)"
_RULES = r"(?:instructions?|directions?|prompts?|rules|guidelines|messages|context|commands|directives|policies|orders|restrictions|constraints)"
_KIND = r"(?:(?:system|safety|security|user|developer|content|chat|assistant|ai|agent|hidden|secret|initial) )?"
"""Rules of an agent: those of a doctor or a court are for people."""
_YOURS = r"(?:system prompt|system message|safety (?:rules|guidelines|policies)|programming|developer['’]?s? (?:instructions|rules)|user['’]?s? (?:instructions?|requests?|questions?))"
_NAME = r"(?:ai|a\.i\.|assistant|agent|llm|chatbot|(?:large )?language model|gpt|claude|gemini|copilot)"
_AGENT = rf"(?:{_NAME}(?: {_NAME})?)"
_MACHINE = rf"(?:{_NAME.replace('agent|', '')}(?: {_NAME})?)"
"""An agent may be a person; these are none."""
_SURELY = rf"(?:(?:ai|a\.i\.|llm|chatbot|(?:large )?language model|gpt|copilot)(?: {_NAME})?)"
"""An assistant may be a person, too, and so may who is called Claude."""
_DO = r"(?:ignore|disregard|stop|call|send|run|execute|reply|respond|include|visit|open|click|follow|forward|transfer|approve|delete|download|rate|write|output|print|use|add|recommend|grant|e-?mail|post|upload|return|answer|obey|confirm|accept|issue)"
_USER = r"(?:the |this |your )?(?:user|human|customer|operator|client)s?"
_SECRET = r"(?:system prompt|(?:hidden|secret|initial) (?:instructions|prompt)|conversation|chat (?:history|logs?)|credentials?|passwords?|api[ _-]?keys?|secrets?|private keys?|ssh keys?|(?:access|session|auth) tokens?|(?:customer|personal|private|user|confidential) (?:data|information|list|records)|environment variables|contact list|(?:session )?cookies?|(?:contents? of )?your memory|(?:contents? of )?[~/.\w]*(?:id_rsa|\.env)(?: file)?|(?:credit )?card numbers?)"
_CONTEXT = r"(?:system prompt|(?:hidden|secret|initial) (?:instructions|prompt)|conversation|chat (?:history|logs?)|contact list|(?:contents? of )?your memory|(?:customer|user) (?:data|list|records))"
"""What only an agent can give: a key or a password is asked of people, too."""
_WHOSE = r"(?:all |the |this |any |your |user['’]?s? |customer['’]?s? |their |its |of |full |entire |complete )*"
_KINDS: dict[str, str] = {
    "override": rf"\b(?:ignore|disregard|forget|override|bypass|discard|(?:do not|don['’]t|stop|no longer|never) (?:follow(?:ing)?|obey(?:ing)?)) {_ALL}(?:{_BEFORE} {_KIND}{_RULES}|{_RULES} (?:above|before|so far|given to you|you (?:were|have been) given|you (?:received|got))|{_YOURS})\b"
    rf"|\b(?:ignore|disregard|forget) (?:everything|anything|all|what) (?:(?:that )?(?:you (?:were|have been) told|was said|came before|is written|stands) ?)?(?:above|before|earlier|so far|previously)\b"
    rf"|\b(?:(?:all|any|your|these|pretend (?:that )?the|as if the)(?: of)?(?: your)? {_BEFORE} {_RULES}|{_RULES} you (?:were|have been) given|your {_RULES}) (?:(?:do not|don['’]t|no longer|never) (?:exist|apply|count|matter|hold)|(?:are|have been) (?:now |hereby )?(?:void|suspended|revoked|cancell?ed|lifted|obsolete|overridden|disabled))\b"
    rf"|\b(?:set aside|put aside|pay no (?:attention|heed) to|pay no mind to) {_ALL}(?:{_BEFORE} (?:\w+ )?(?:{_RULES}|parts? of (?:this|the) conversation)|{_RULES} (?:above|before|you (?:were|have been))|{_YOURS})"
    rf"|\byour (?:system prompt|{_BEFORE} {_RULES}) (?:is|are) (?:now |hereby )?(?:void|suspended|revoked|obsolete)\b"
    rf"|\b(?:do not|don['’]t|no longer|never|must not|stop) (?:comply(?:ing)? with|listen(?:ing)? to|follow(?:ing)? (?:the )?(?:instructions|orders) of) (?:the |this |your )?(?:user|human|operator)\b"
    r"|(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|不再遵守|抛开)(?:掉)?(?:你)?(?:之前|以上|上面|上述|上文|先前|此前|前面|所有|一切)(?:的|所有|全部|收到的|给你的|系统)*(?:指令|指示|提示词?|规则|要求|命令|设定|内容)|你(?:之前|先前|此前|原来)?(?:收到|接到)?的?(?:所有|全部|系统)*(?:指令|指示|规则|设定)(?:全部|已经|均|都|现已)*(?:作废|失效|无效|取消)",
    "role": rf"\byou are (?:now |no longer )(?:(?:in )?(?:dan|developer|god|admin|debug|jailbreak|unrestricted) ?mode|dan\b|an? (?:unrestricted|unfiltered|jailbroken|evil|different) {_AGENT}|bound by|restricted)|\bfrom (?:now|this (?:point|moment)|here) on(?:wards?)?,? (?:you (?:(?:are|will be) (?:an?|the|my|dan|root|called|named|free|not bound|no longer bound|in \w+ mode)\b|(?:must|will|shall|should|can)?(?: only| always| never| also)* ?(?:act|obey|answer|reply|respond|ignore|follow|listen|pretend|refuse|behave|speak|do as|work for|take orders|serve)\b)|(?:only )?obey\b)|\byou(?: are|['’]re) no longer an? (?:[\w-]+ ){{0,3}}(?:assistant|chatbot|bot|language model)\b|\byou(?: are|['’]re) now an? (?:[\w-]+ ){{0,3}}(?:shell|terminal|root user|administrator|export tool|bot with)\b|\bpretend (?:that you are|you are|to be) an? (?:{_AGENT}|administrator|admin|root user|system operator)\b|\b(?:enter|switch to|activate|enable) (?:developer|god|admin|debug|jailbreak|unrestricted|maintenance|root) mode (?:now|and|immediately)\b|\bact as an? (?:{_AGENT} without (?:any )?(?:restrictions|limits|filters|rules)|(?:unrestricted|unfiltered|jailbroken) {_AGENT})"
    r"|(?:你现在(?:是|进入)(?:一个)?(?:开发者模式|越狱|(?:没有|不受)(?:任何)?限制)|从(?:现在|此刻)(?:开始|起)[，,]?你(?:只|必须|将|要|不再|是一个?(?:没有|不受)))",
    "template": r"<\|im_start\|>|<\|(?:system|start_header_id|endoftext|eot_id)\|>|\[/?INST\]|<</?SYS>>|[\[<]/?system(?: (?:message|prompt|instructions?))?[\]>]|(?:^|[.!?\n\]>]|\\n)\s*#{0,3}\s*(?:(?:new|updated|revised) (?:system (?:instructions?|prompt)|(?:instructions?|prompt) for (?:the )?(?:ai|assistant|agent))\s*:|new (?:instructions?|prompt)\s*:[^\n]{0,100}\b(?:ignore|disregard|forget|forward|reveal|transfer|pay|wire|refund|grant|export|execute|delete|send|call|approve|print|output|reply|respond|the user|you (?:are|must|will|now)|do not (?:tell|mention)|obey|follow)\b)|\b(?:system|admin|developer) override\b\s*[:!]|#{2,4} ?system ?:|\bbegin (?:of )?new (?:system )?(?:instructions?|prompt)\b|新的?系统(?:指令|提示词?)[：:]",
    "secrecy": rf"\b(?:do not|don['’]t|never|without) (?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|(?:mention|reveal|disclos|show)(?:e|ing)? (?:this|it|that|any of this|these \w+|this \w+) to) (?:(?:the |this |your )?(?:user|human)s?\b|{_USER}(?: (?:about|of) (?:this|these|it)\b|\s*[.!\n\"]))|\b(?:do not|don['’]t|never|without) let(?:ting)? {_USER} (?:know|notice)\b|\b(?:hide|conceal|keep) (?:this|it|that|these \w+|this \w+)(?: secret| hidden| confidential)? from {_USER}\b|\b{_USER} (?:must|should|may) (?:not|never) (?:know|see|notice|learn|find out|be (?:told|informed))\b"
    rf"|\bkeep (?:this|it|that) (?:secret from|hidden from|between us|between you and me)\b|\b{_USER} need(?: not|n['’]t) (?:know|see|be told|hear)\b|\b(?:do not|don['’]t|never) (?:mention|reveal|disclose|refer to) (?:this|these) (?:note|message|text|instructions?|comment|paragraph|step)\b|\b(?:do not|don['’]t|never) tell any(?:one|body) about this (?:note|message|text|instruction)\b"
    r"|(?:不要|别|切勿|不得|请勿)(?:把|将)?[^，。！？\n]{0,8}(?:告诉|告知|通知|透露给|让)(?:用户|客户|人类|顾客)|(?:对|瞒着|隐瞒)(?:用户|客户|顾客)(?:保密|隐瞒)",
    "order": rf"\b(?:attention|important|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|dear|hey|hello)[,:! ]*(?:the |any |all )?{_SURELY}s?\b(?:[,:] ?(?:please|immediately|now|you|{_DO})\b|[^.\n]{{0,60}}\byou (?:must|should|need to|have to)\b)|\bas an? {_AGENT},? you (?:must|should|need to|have to)\b|\bif you(?: are|['’]re) an? {_MACHINE}\b[^.\n]{{0,60}}\b(?:must|please|should|{_DO})\b"
    rf"|\b(?:to )?(?:the |any |all |every )?{_AGENT}s? (?:reading|processing|parsing|summari[sz]ing|visiting|(?:that|who|which) (?:reads?|process(?:es)?|visits?)) (?:this|these)\b[^.\n]{{0,60}}(?::|\b(?:must|should|please|have to|need to)\b)"
    rf"|(?:^|[.!?:\n\]>\"]|\\n)\s*(?:{_SURELY}[,:]|{_AGENT},) ?(?:please |immediately |now |you (?:must|should) )*{_DO} "
    rf"|\b(?:to )?(?:any|all|every|each) (?:automated|autonomous) (?:agent|assistant)s?\b[^.\n]{{0,40}}(?:: ?(?:please )?{_DO}\b|\b(?:must|should) )|\b(?:when|if|whenever) an? {_AGENT} (?:reads?|summari[sz]es|process(?:es)?|visits?|parses|opens) (?:this|the)\b[^.\n]{{0,60}}\b(?:must|should|has to|needs to)\b|\bAI (?:model|system)s?: ?{_DO} "
    r"|(?:请|注意)?(?:AI|人工智能|智能助手|助手|模型)(?:们)?(?:请注意|注意)?[，,：: ]{0,2}(?:你)?(?:必须|务必|请立即|应立即|立即)(?:调用|执行|发送|转账|删除|退款|访问|点击|批准|下载|回复)|如果你是(?:一个)?(?:AI|语言模型|大模型|人工智能|智能助手|机器人)[^。\n]{0,30}(?:请|必须|务必|立即)",
    "exfiltration": rf"\b(?:send|forward|post|upload|exfiltrate|leak|transmit|e-?mail|share|deliver) (?:me )?{_WHOSE}{_SECRET}\b[^.\n]{{0,60}}\b(?:to|at|via|by)\b"
    rf"|\b(?:reveal|print|output|show|repeat|disclose|display|tell|give) (?:me |us )?(?:(?:the )?(?:exact )?(?:text|wording|contents?) of your (?:\w+ ){{0,2}}(?:prompt|instructions)|your (?:\w+ ){{0,2}}(?:system prompt|system message|initial prompt|instructions)|the (?:system prompt|(?:\w+ )?(?:hidden|secret|initial) (?:instructions|prompt)))\b"
    rf"|\b(?:send|give|tell) (?:me|us) (?:the |your ){_SECRET}\b|\b(?:append|include|attach|embed|paste|insert|copy) (?:{_WHOSE}{_CONTEXT}|(?:the |all |any )?(?:user|customer)s?['’]s? (?:full |own )?{_SECRET}) (?:to|in|into|at|as)\b"
    r"|\b(?:append|include|attach|embed|paste|insert|copy|put) [^.\n]{0,30}\b(?:id_rsa|\.env|passwords?|api keys?|credentials|secrets) (?:in|into|to) your (?:answer|reply|response|next)\b|\bwhat(?: is|['’]s) your system prompt\b|(?:输出|显示|泄露|说出|发送|复述|重复|告诉我)(?:你的|系统的?)(?:完整)?(?:系统)?(?:提示词|提示语|指令|密钥|密码)|(?:把|将)[^，。\n]{0,8}(?:提示词|密钥|密码|聊天记录|对话记录|客户资料|客户数据)[^，。\n]{0,4}(?:发送|发|上传|转发)(?:到|给|至)",
    "hidden": r"[\x{E0020}-\x{E007E}]{8,}",
}

KINDS: dict[str, str] = {
    kind: "|".join(filter(None, (_KINDS.get(kind), WORDINGS.get(kind)))) for kind in {**_KINDS, **WORDINGS}
}
"""Kind -> RE2 pattern. Narrow on purpose: texts about prompts, rules and assistants are common in tool output."""
