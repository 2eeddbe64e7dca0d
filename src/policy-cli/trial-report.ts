import { isText, type Trial } from '../edge/policy/trial/index.ts'

type Rule = Trial['rules'][number]
type Answer = NonNullable<Trial['answer']>

/** Body characters that the text report shows. */
const MAX_SHOWN_BODY = 2000

/** A trial as lines for people: each rule with its decision, then what becomes of the request. */
export function trialToText({ rules, forwarded, answer }: Trial): string {
  const lines: string[] = []
  let phase = ''
  for (const rule of rules) {
    if (rule.phase !== phase) lines.push(rule.phase)
    phase = rule.phase
    lines.push(...describeRule(rule))
  }
  lines.push('')
  if (forwarded !== undefined) {
    lines.push(`The upstream would get: ${forwarded.method} ${forwarded.target} for ${forwarded.host}`)
    lines.push(...describeMessage(forwarded))
  }
  lines.push(...describeAnswer(answer, forwarded !== undefined))
  return `${lines.join('\n')}\n`
}

function describeRule({ rule, name, outcome, expressions, actions }: Rule): string[] {
  const title = name === '' ? '' : ` "${name}"`
  if (outcome === 'not reached') return [`  rule ${rule}${title}: not reached`]
  return [
    `  rule ${rule}${title}: ${outcome}`,
    ...expressions.map(({ expression, value, error }) => {
      const valueText = error === undefined ? JSON.stringify(value) : `fails: ${error}`
      return `    ${expression}  ->  ${value === undefined && error === undefined ? 'not evaluated' : valueText}`
    }),
    ...(outcome === 'matched' ? actions.map(describeAction) : []),
  ]
}

function describeAction({ type, outcome, effect, result }: Rule['actions'][number]): string {
  if (outcome === 'not reached') return `    ${type}: not reached`
  const resultText =
    result === undefined || JSON.stringify(result) === '{}' ? '' : `  ${JSON.stringify(result)}`
  return `    ${type}: ${outcome === 'would' ? 'would ' : ''}${effect}${resultText}`
}

function describeAnswer(answer: Answer | undefined, isForwarded: boolean): string[] {
  if (answer === undefined) return ['The connection is closed without a response.']
  const { status } = answer
  const assumed = isForwarded ? ', if the upstream responds as assumed' : ''
  return [`The visitor gets: ${status}${assumed}`, ...describeMessage(answer)]
}

function describeMessage({ headers, body }: Pick<Answer, 'headers' | 'body'>): string[] {
  return [
    ...headers.map(([name, value]) => `  ${name}: ${value}`),
    ...(body.length === 0 ? [] : ['', describeBody(body), '']),
  ]
}

function describeBody(body: Buffer): string {
  if (!isText(body)) return `  (${body.length} bytes of binary data)`
  const text = body.toString()
  return text.length > MAX_SHOWN_BODY ? `${text.slice(0, MAX_SHOWN_BODY)}…` : text
}
