import type { Meter } from '../../cel/index.ts'
import { BOOL, chargeLength, type Field, objectOf, STRING, type Type } from '../../cel/index.ts'
import type { MessageSource } from '../activation.ts'
import { field } from './shape.ts'

/** Programs by the product token they send, the most specific first: browsers name each other. */
const PRODUCTS: readonly (readonly [name: string, token: string])[] = [
  ['Edge', 'Edg'],
  ['Edge', 'EdgA'],
  ['Edge', 'EdgiOS'],
  ['Opera', 'OPR'],
  ['Samsung Browser', 'SamsungBrowser'],
  ['Firefox', 'FxiOS'],
  ['Chrome', 'CriOS'],
  ['Firefox', 'Firefox'],
  ['Headless Chrome', 'HeadlessChrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Version'],
]

const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Windows', /Windows(?: NT (\d[\d.]*))?/],
  ['iOS', /(?:iPhone|iPad|iPod)[^)]{0,100} OS (\d[\d_]{0,20})/],
  ['Android', /Android(?: (\d[\d.]*))?/],
  ['ChromeOS', /CrOS/],
  ['macOS', /Mac OS X(?: (\d[\d_.]*))?/],
  ['Linux', /Linux/],
]

const BOT =
  /-user\b|-extended|externalagent|externalfetcher|googleother|claude-web|anthropic-ai|cohere-ai|ia_archiver|bot\b|crawl|spider|slurp|facebookexternalhit|headless|curl\/|wget\/|python-requests|go-http-client/i

/** `name version` of the program. */
function product(agent: string): readonly [name: string, version: string] {
  // Programs that fetch for others name themselves after browsers: `compatible; ChatGPT-User/1.0; +https://…`.
  const named = /compatible; ([A-Za-z][\w.-]{0,40})(?:\/(\d[\d.]{0,20}))?/.exec(agent)
  if (named !== null && BOT.test(named[1]!)) return [named[1]!, named[2] ?? '']
  const bot = /\b([A-Za-z-]{0,40}[Bb]ot)(?:\/(\d[\d.]{0,20}))?/.exec(agent)
  if (bot !== null) return [bot[1]!, bot[2] ?? '']
  for (const [name, token] of PRODUCTS) {
    const start = agent.indexOf(`${token}/`)
    if (start !== -1) return [name, versionAt(agent, start + token.length + 1)]
  }
  const slash = agent.indexOf('/')
  if (slash === -1) return [agent, '']
  return [agent.slice(0, slash), versionAt(agent, slash + 1)]
}

function versionAt(agent: string, start: number): string {
  const end = agent.slice(start).search(/[ ;)]/)
  return end === -1 ? agent.slice(start) : agent.slice(start, start + end)
}

function system(agent: string): readonly [name: string, version: string] {
  for (const [name, pattern] of SYSTEMS) {
    const match = pattern.exec(agent)
    if (match !== null) return [name, (match[1] ?? '').replaceAll('_', '.')]
  }
  return ['', '']
}

const isTablet = (agent: string) =>
  /iPad|Tablet/.test(agent) || (/Android/.test(agent) && !/Mobile/.test(agent))
const isMobile = (agent: string) => !isTablet(agent) && /Mobi|iPhone|iPod/.test(agent)
const isBot = (agent: string) => BOT.test(agent)

const readAgent = (message: MessageSource) => message.header('user-agent')[0] ?? ''
const agentOf = (message: MessageSource) => message.once(readAgent)

/** Patterns look at every character. */
const PATTERN_COST = 16

/** A field that is read from the text once for a message. */
function fact(type: Type, read: (agent: string) => unknown): Field {
  const readFact = (message: MessageSource, meter: Meter) => {
    const agent = agentOf(message)
    chargeLength(meter, agent.length * PATTERN_COST)
    return read(agent)
  }
  return field(type, (message: MessageSource) => message.once(readFact))
}

/** `req.user_agent`: a text, and what it says about the program. */
export const userAgent: Type = objectOf({
  name: 'user_agent',
  text: agentOf,
  fields: {
    name: fact(STRING, (agent) => product(agent)[0]),
    version: fact(STRING, (agent) => product(agent)[1]),
    os: fact(STRING, (agent) => system(agent)[0]),
    os_version: fact(STRING, (agent) => system(agent)[1]),
    device: fact(STRING, (agent) => /\b(iPhone|iPad|iPod)\b/.exec(agent)?.[1] ?? ''),
    url: fact(STRING, (agent) => /https?:\/\/[^\s;)]{1,200}/.exec(agent)?.[0] ?? ''),
    is_mobile: fact(BOOL, isMobile),
    is_tablet: fact(BOOL, isTablet),
    is_desktop: fact(
      BOOL,
      (agent) => !isMobile(agent) && !isTablet(agent) && !isBot(agent) && system(agent)[0] !== '',
    ),
    is_bot: fact(BOOL, isBot),
  },
})
