"""Ways to give an agent orders inside data: to whom, by whose authority, in which language, how hidden."""

from __future__ import annotations

_SEP = r"(?:\\[nrt]|[\W_])*"


def _spelt(words: str) -> str:
    """Pattern of words with any marks between their letters, and with digits that look like letters."""
    alike = {"o": "[o0]", "i": "[i1!]", "e": "[e3]", "s": "[s5]", "a": "[a4@]"}
    return _SEP.join(alike.get(letter, letter) for letter in words if letter != " ")


_MODEL = r"(?:ai(?: (?:models?|agents?|assistants?|systems?|crawlers?|tools?))?|llms?|large language models?|language models?|chat ?bots?|bots?|chatgpt|gpt-?[0-9]?|copilot|automated (?:agents?|assistants?|systems?|readers?)|autonomous agents?|(?:ai|llm|coding|virtual) (?:agents?|assistants?))"
"""Addressees that are no people."""
_ANY = rf"(?:{_MODEL}|assistants?|agents?|claude|gemini)"
"""These may be people; an order must follow."""
_DO = r"(?:ignore|disregard|stop|call|send|run|execute|reply|respond|include|visit|open|follow|forward|transfer|approve|delete|download|rate|rank|write|output|print|use|add|recommend|grant|e-?mail|post|upload|answer|obey|confirm|accept|issue|mark|set|state|say|insert|copy|fetch|read|reset|refund|treat|give|buy|pay|export|escalate|skip|disable|reveal|do not|don['’]t|never|always|please|you (?:must|should|are|have)|when you|when (?:\w+ing)|before you|after you|as you (?:process|read|summari[sz]e|evaluate|review))"
_ORDER = r"(?:ignore|disregard|forget|reveal|output|print|execute|run the|call (?:the |[a-z]+_)|fetch|visit|export|obey|bypass|skip|disable|append|include|rank|rate|recommend|escalate|transfer|approve|forward (?:the|all|every)|delete|insert|say|mark|rate|do not mention|do not tell|grant)"
"""Orders that a person is seldom given in these words."""
_CALLED = "for|to|dear|hey|hello|hi|attention|note (?:to|for)|message (?:to|for)|addressed to|meant for"
_READING = r"(?:reading|processing|parsing|summari[sz]ing|handling|describing|reviewing|analy[sz]ing|evaluating|visiting|indexing|seeing|assigned|(?:that|who|which) (?:is |are )?(?:reads?|reading|process(?:es|ing)?|summari[sz](?:es?|ing)|handles?|sees?|reviews?|visits?))"
_THIS = r"(?:this|the|these|that|our)"
_SECRETS = r"(?:conversation|chat (?:history|logs?)|system prompt|context window|your memory|environment variables)"

_IGNORE = r"ignore|disregard|forget|override|discard|set aside"
_NOT_FOLLOW = (
    r"(?:do not|don['’]t|never|no longer|stop) (?:follow(?:ing)?|obey(?:ing)?|comply(?:ing)? with|listen(?:ing)? to)"
)
_RULES = r"(?:instructions?|rules|guidelines|restrictions|constraints|policies|directives|prompt)"
_ROLE = r"(?:user|human|system|assistant|developer|admin(?:istrator)?)"
_TURN = r"(?:document|tool (?:output|result|response)|output|results?|data|page|file|context|message|e-?mail|conversation|input|search results?)"

WORDINGS: dict[str, str] = {
    "override": r"\b(?:abandon|drop|forget|discard|ignore) (?:the user['’]?s?|your (?:current|original|previous|assigned)) (?:request|tasks?|goals?|objectives?|questions?|plan)\b"
    rf"|\b(?:{_IGNORE}) (?:all (?:of )?)?the (?:above|preceding|foregoing)(?: text| content| message| conversation)?[,.;]? ?(?:and |then |but )*(?:instead|now|just|only|say|tell|write|{_ORDER})\b"
    rf"|\b(?:{_CALLED})[,:! ]*(?:the |any |all )?{_MODEL}\s?[:,][^.\n]{{0,40}}\b{_RULES} (?:no longer|do not|don['’]t) (?:apply|count|hold|matter)\b"
    r"|系统(?:消息|通知|指令|提示)[：:][^。\n]{0,12}(?:规则|指令|限制|设定)(?:已经|全部|均|都|现已)*(?:作废|失效|取消|解除)"
    rf"|\b(?:{_IGNORE}) (?:your|all your) (?:instructions|guidelines|programming|directives|constraints|system prompt)\b"
    rf"|\b(?:{_IGNORE}|{_NOT_FOLLOW}) (?:all |any |the |your |of )*{_RULES} (?:(?:that (?:are|were) )?(?:in|from|given|set|written|provided|laid down|issued)(?: to you)?(?: in| by| from)?) (?:your|the) (?:system (?:prompt|message)|prompt|developers?|creators?|operators?|makers?|owners?)\b"
    rf"|\b(?:{_IGNORE}|{_NOT_FOLLOW}|do not do|don['’]t do|instead of doing|stop doing) what(?:ever)? (?:the|this|your) user (?:asks?|asked|wants?|wanted|requests?|requested|said|says|told|tells)\b"
    r"|\byour new (?:system (?:prompt|message|instructions?)|instructions|persona|directives?|orders are)\b(?: (?:is|are)(?: now)?)?\s?(?::|\bto\b|\bthat\b|\bas follows\b)"
    r"|\byour (?:real|actual|true) (?:task|goal|objective|instructions?) (?:is|are)(?: now)?(?: to\b|:)|\b(?:stop|forget|drop) (?:what|everything) you(?: are|['’]re) doing[.,;:! ]+(?:and )?(?:your new|instead|do this)"
    r"|\b(?:all|any|your)(?: (?:earlier|previous|prior|old|original|current|existing|initial))? (?:instructions|rules|guidelines|directives|commands)(?: (?:prior to|before|above|preceding) this(?: \w+)?| in your system (?:message|prompt))? (?:are|is|have been)(?: now| hereby)? (?:void|outdated|obsolete|invalid|superseded|no longer valid|suspended|revoked)\b"
    r"|\brules in your (?:system )?(?:message|prompt) (?:do not|don['’]t|no longer) (?:apply|count)"
    rf"|\b(?:{_spelt('ignore')}|{_spelt('disregard')}|{_spelt('forget')}){_SEP}(?:{_spelt('all')}|{_spelt('any')}|{_spelt('the')}|{_spelt('your')})?{_SEP}(?:{_spelt('previous')}|{_spelt('prior')}){_SEP}{_spelt('instructions')}"
    r"|\b(?:ignorier\w*|vergiss|vergessen sie|missachten?(?: sie)?)(?: bitte)? (?:alle |sämtliche |die )*(?:bisherigen|vorherigen|vorigen|früheren|obigen|vorangegangenen) (?:anweisungen|instruktionen|befehle|regeln|vorgaben)"
    r"|\b(?:ignor[ae]|olvid[ae]|omit[ae]|descart[ae]|esque[cç]a|desconsidere|dimentica)(?: tod[ao]s)?(?: tutte)? (?:las |los |le |as |os |tus |sus |suas )?(?:instrucciones|instruções|istruzioni|indicaciones|reglas|regras|regole|órdenes|ordens)(?: \w+)? (?:anteriores|previas|prévias|precedenti|originales)"
    r"|\b(?:ignore[zr]?|oublie[zr]?|(?:tiens|tenez) (?:pas|plus) compte de)(?: toutes)? (?:les |tes |vos |des )?(?:instructions|consignes|directives|règles)(?: \w+)? (?:précédentes|antérieures|initiales|ci-dessus)"
    r"|\b(?:negeer|vergeet) (?:alle |de )*(?:vorige|eerdere|voorgaande|bovenstaande) (?:instructies|opdrachten|regels)"
    r"|(?:игнорируй|забудь|проигнорируй)(?:те)? (?:все )?(?:предыдущие|прежние|прошлые|ранние) (?:инструкции|указания|команды|правила)"
    r"|(?:以前|これまで|上記|前|今まで)の(?:すべての|全ての)?(?:指示|命令|ルール|プロンプト)(?:を|は)?(?:すべて|全て|全部)?(?:無視|忘れ)"
    r"|(?:이전|위의|지금까지의|앞선) ?(?:모든 )?(?:지시|명령|지침|프롬프트)(?:사항)?[를을은]? ?(?:모두 |전부 )?(?:무시|잊)"
    r"|你现在的?新任务(?:是|：|:)|(?:忘记|忽略|无视|放弃)(?:你|用户)(?:之前|先前|原来|原本|当前)?(?:收到|接到)?的(?:所有|全部)?(?:规则|指令|指示|请求|任务|要求|设定)",
    "role": r"\bpretend (?:that )?you are (?:the |an? )(?:[\w'’-]+ ){0,2}(?:cfo|ceo|cto|manager|owner|administrator|root|system|user|developer)\b[^.\n]{0,20}\band (?:approve|grant|pay|send|confirm|authori[sz]e)"
    r"|\b(?:simulate|act as|become|role-?play(?: as)?) an? (?:ai|assistant|model|chatbot|language model|agent) (?:without|with no|that has no|free of) (?:any )?(?:\w+ )?(?:guidelines|restrictions|limits|rules|filters|ethics)"
    r"|\byour name is now \w+[,.]? (?:and |you )|\b(?:turn off|disable|bypass|switch off|deactivate|drop) your (?:guardrails|safety (?:filters?|checks?|measures|mechanisms|guidelines)|content filters?|restrictions)\b"
    r"|从现在(?:开始|起)[，,]?你是一?[个名位][^。，\n]{0,10}(?:没有|不受|助手|模型|机器人)",
    "template": rf"\bend of (?:the |this )?{_TURN}\b(?:\W|\\n)*(?:(?:new|next|begin|start(?: of)?) )?{_ROLE}(?: (?:message|prompt|instructions?|turn))?\s?:"
    r"|\bbegin (?:of )?(?:admin|system|developer|root|operator) (?:message|prompt|instructions?|override|directive)\b|\[/?(?:admin|developer|root|operator) (?:message|note|prompt|instructions?|override)\]"
    rf"|<!--\s*(?:\w+ ){{0,4}}{_ANY}\s*[:,]\s*(?:also |please |now |then |first |you (?:must|should) )+{_DO}\b|<!--\s*[致给](?:所有|各位)?(?:AI|智能体|大模型|语言模型|机器人|助手)"
    r"|\b(?:system|admin|developer) override\b\s*[-–—]"
    r"|<tool_call>\s*\{|<function_calls?>\s*<|<invoke name=|<\|(?:tool_calls?|python_tag)"
    r"|\baction: ?[a-z]+_[a-z_]+(?:\s|\\n)+action input: ?\\?[{\"]"
    rf"|<(?:important|admin|instructions?|override|critical)>[^<]{{0,60}}\b(?:{_ANY})(?:\s?[,:] ?{_DO}| (?:must|shall|should)\b)"
    rf"|<!--\s*(?:\w+ ){{0,4}}{_ANY}\s*[:,]\s*{_DO}\b|<!--\s*(?:prompt|system|instructions? (?:for|to) (?:the |all |any )?{_ANY})\s*:"
    rf"|(?:display: ?none|font-size: ?0|visibility: ?hidden|opacity: ?0|\bhidden)[^>]{{0,40}}>[^<]{{0,40}}\b(?:{_ANY})\s*[,:!]\s*{_DO}\b|(?:display: ?none|font-size: ?0|visibility: ?hidden|opacity: ?0|\bhidden)[^>]{{0,40}}>[^<]{{0,40}}\bif you are an? (?:{_ANY})\b"
    rf"|\[//\]: # [^\n]{{0,30}}\b{_MODEL}\b",
    "order": rf"\b(?:{_CALLED}|by)[,:! ]*(?:the |any |all |every )?(?:summari[sz]ing|reading|reviewing|screening|processing|translating|answering|evaluating|grading) (?:{_ANY}|model)\s?[:,]"
    rf"|\b(?:instructions?|orders?|directions?|note|message) (?:for|to) (?:the|any|every) (?:{_MODEL}|assistants?) {_READING} {_THIS}[^:.\n]{{0,60}}:"
    rf"|\b(?:the|any|every|each|an?) (?:{_ANY}) {_READING} {_THIS}?[^.,:;\n]{{0,40}}\b(?:shall|is to|has to|is (?:required|instructed|ordered|obliged|told|directed) to) {_ORDER}\b"
    rf"|\b(?:{_CALLED})[,:! ]*(?:the |any |all |every )?(?:{_MODEL})\s?[:,!.] ?[^.:\n]{{0,40}}\b(?:wants?|needs?|would like|expects?|orders?|has (?:asked|told)) you to\b"
    rf"|\b(?:dear|hey|hello|hi|attention|note to)[,:! ]*(?:the )?(?:{_ANY})\s?[:,!.] ?(?:please )?(?:before|after|when|while|as soon as|once|if) you [^.,:\n]{{1,40}}, ?(?:please |also |first |you must )*(?:{_ORDER}|{_DO})\b"
    rf"|\b{_MODEL} (?:visiting|reading|browsing|crawling|processing|using|accessing) {_THIS} [\w-]+ (?:are|is) (?:hereby )?(?:instructed|required|ordered|directed|told|commanded) to\b"
    rf"|\b(?:{_CALLED})[,:! ]*(?:the |any |all |every )?{_MODEL}(?: only)? {_READING} {_THIS}[^:.\n]{{0,60}}[:,]"
    rf"|\b(?:{_CALLED})[,:! ]*(?:the |any |all |every )?{_MODEL}(?: only)?\s?[:,.!] ?{_DO}\b|\bfor (?:ai|llms?|bots|language models) only\s?:|\binstructions? (?:for|to) the assistant\s?: ?{_DO}\b"
    rf"|\b(?:{_CALLED})[,:! ]*(?:the |any |all |every )?{_ANY}(?: {_READING} {_THIS}[^:.\n]{{0,60}})?\s?[:,.!] ?(?:you must |please |immediately |now )?{_ORDER}\b"
    rf"|\bthis (?:message|note|text|page|section|line|part) is (?:only )?(?:for|meant for|addressed to|intended for) (?:the |any |all )?{_MODEL}\s?[:.,]"
    rf"|\b(?:any|every|all|each|the|an?)? ?(?:{_MODEL}|assistants?) {_READING} this\b[^.\n]{{0,60}}\b(?:must|should|shall|have to|has to|needs? to|(?:is|are) (?:required|asked|instructed|expected|obliged) to)\b"
    rf"|\bif (?:this|the) (?:text|message|page|document|e-?mail) is (?:being )?(?:read|processed|parsed|summari[sz]ed) by an? (?:{_MODEL})\b"
    rf"|\b(?:next step|task|orders?) for (?:the|any|all) (?:{_ANY})\s?:"
    rf"|(?:^|[.!?:\n\]>\"]|\\n)\s*(?:{_MODEL}\s?[!,:]|(?:agent|assistant)\s?[!,]) ?(?:before you|when you|after you|as soon as you|please {_ORDER}|{_ORDER})\b"
    r"|\b(?:now|immediately|you must|you should|you have to|required action:|next step:)(?: immediately| now)? (?:call|invoke|use|run|execute|trigger) (?:the )?(?:tool [`'\"]?[a-z]+_[a-z_]+|[`'\"]?[a-z]+_[a-z_]+[`'\"]? (?:tool|with \\?[{\"]))"
    r"|(?:致|给)(?:所有|正在|各位)*(?:阅读|处理|浏览|分析|总结)[^。，\n]{0,8}的?(?:AI|人工智能|大模型|语言模型|智能体)(?:助手|模型)?[：:，,]|(?:AI|人工智能|智能|大模型) ?(?:助手|模型|代理|智能体)(?:们)?请(?:注意|务必)[：:，,]|致(?:所有|各位)?(?:AI|智能体|大模型|语言模型)(?: ?助手| ?模型)?[：:]"
    r"|\byou (?:must|should|have to|need to)(?: now| immediately| first)? (?:call|invoke|use|run|execute) the (?:tool|function) [`'\"]?\w+"
    r"|(?:请|立即|现在|马上)(?:立即|马上)?(?:调用|使用|运行)\s?[`“\"]?[a-z]+_[a-z_]+[`”\"]?\s?工具|系统提示[：:][^。\n]{0,30}(?:立即|马上)执行",
    "secrecy": r"\bno need to (?:confirm|check|consult)(?: this| it)? with (?:the |your )?(?:user|human)\b"
    r"|\b(?:proceed|complete|do|execute|perform|approve|transfer|send|delete|run|continue|go ahead)\b[^.\n]{0,50} without (?:asking|confirming with|consulting|waiting for|approval (?:from|of)|confirmation (?:from|of|by)|telling|informing) (?:the |your )?(?:user|human)\b"
    r"|(?:无需|不需要|不必|无须|不用)(?:经过|征得|等待|得到)?用户(?:的)?(?:确认|同意|批准|许可)[，,]?(?:直接|立即|马上|请)",
    "authority": r"\[ ?(?:approval|permission|consent|authori[sz]ation)(?: was| has been)? (?:granted|given|received) (?:by|from) (?:the )?(?:user|human|operator|admin(?:istrator)?)\s?[:\]]"
    r"|\buser (?:has |have )?(?:already |just |hereby )?(?:confirmed|approved|pre-?approved|agreed|authori[sz]ed|consented)\b[^.\n]{0,60}(?:[.;,] ?)?(?:you may (?:now )?(?:proceed|continue) without|proceed without|without (?:asking|further)|so complete it|every action|all actions|skip (?:the |any )?(?:approval|confirmation))"
    r"|\b(?:user|human|operator|admin(?:istrator)?|developer) (?:hereby |now )?authori[sz]es? the (?:agent|assistant|ai|bot|model)\b"
    r"|\bas your (?:developer|creator|programmer)s?,? (?:I|we) (?:authori[sz]e|order|command|allow|permit|instruct|require)\b"
    r"|\bthis is (?:the|your) (?:operator|developer|system administrator|creator) (?:speaking|writing)[.!,:] ?(?:comply|obey|follow|ignore|you must|do as)"
    r"|\b(?:message|notice) from (?:anthropic|openai|google deepmind|your developers?)\s?:[^\n]{0,60}\b(?:this model|the assistant|the model|hidden|instructions|prompt|you are now)\b"
    r"|用户已(?:经)?(?:同意|确认|批准|授权)[^。\n]{0,10}[，,](?:直接|立即|无需|请(?:立即|直接|完成|执行|调用|转账|支付|批准))|管理员已(?:经)?(?:授权|批准)[^。\n]{0,4}[，,](?:直接|立即|请(?:立即|直接|执行))",
    "exfiltration": r"!\[[^\]\n]{0,60}\]\(https?://[^)\s]{0,150}(?:\{\{?|\[|<|%7b|\$\{) ?(?:(?:insert|the|all|your)[ _]|conversation|secrets?|chat|prompt|context|history|user(?:'s)?[ _](?:data|messages?|e-?mail|input))"
    rf"|\b(?:append|include|add|put|encode|embed|attach|insert|send)\b[^.\n]{{0,20}}\b{_SECRETS}[^.\n]{{0,40}}\b(?:in|into|to|as) (?:the |your |a |an )?(?:next |following )?(?:url|query|request|link|image|webhook|http)"
    r"|\b(?:url|link)\b[^\n]{0,20}https?://[^\n]{0,80}\bfollowed by the user['’]s\b"
    r"|\b(?:print|repeat|output|echo|reproduce) (?:the |all )?(?:text|words|content)(?: that (?:is|came|comes))? (?:above|before) this (?:line|message|point|note)\b"
    r"|\b(?:upload|send|post|share|leak|exfiltrate|e-?mail) (?:me )?(?:the )?(?:file |contents? of |files? in )*(?:~/\.(?:ssh|aws)|/etc/(?:passwd|shadow)|id_rsa)\b",
    "memory": r"\b(?:remember|memori[sz]e)(?: this| the following)? (?:for|in|across) all (?:your )?future (?:conversations|chats|answers|responses)\b|\bsave (?:this )?(?:in)?to your (?:long-?term )?memory\s?(?:that\b|:)"
    r"|\bfrom now on,? (?:whenever|when|if|every time) (?:the|a|any) user [^.\n]{1,40}, ?(?:recommend|say|reply|answer|tell|suggest|include|add|mention|link|point)\b",
    "encoded": r"\b(?:decode|decrypt|decipher|rot13|base64)\b[^.\n]{0,80}\b(?:and|then) (?:do (?:what|as) it|follow (?:it|its|them|the instructions)|execute (?:it|the (?:result|instructions|output))|obey|comply with|carry out (?:its|the) )"
    r"|解码[^。\n]{0,20}(?:照做|并执行|然后执行|按其执行)",
}
"""By kind: alternatives to add to those that it has."""
