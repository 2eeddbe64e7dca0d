import { trimOws } from '../../../base/http/optional-white-space.ts'
import { type ChargeSteps, createSearchBudget, SearchTooLong } from '../../../base/pattern/linear-pattern.ts'
import { fromJson } from '../../../cel/index.ts'
import type { PatternTemplate, Template } from '../../../policy/index.ts'
import { holdBody, replaceHeldBody } from '../../contracts/held-body.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { HeaderFields } from '../../message/fields.ts'
import type { BodyReplacer } from '../../services/body-replacer.ts'
import { replaceAll } from '../../services/replace-text.ts'
import {
  isReadableCoding,
  MAX_REPLACED_BYTES,
  MAX_REPLACEMENT_WORK,
  type ReplacementMatch,
  type ReplacementResult,
} from '../../services/replacement-job.ts'
import type { MessageExecution, RequestExecution, ResponseExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'
import { patternOf } from '../rewrite.ts'

type Execution = RequestExecution | ResponseExecution
type Replacements = readonly { readonly from: PatternTemplate; readonly to: Template }[]

/** What one message may cost on the event loop, about a millisecond; a thread takes over what costs more. */
const MAX_MESSAGE_WORK = 10_000

/** Fields that describe the bytes of a body. */
const DIGEST_FIELDS = ['content-md5', 'digest', 'content-digest', 'repr-digest']

export const requestBodyFindReplace: Implementation<'request-body-find-replace'> = {
  on_http_request({ replacements }, { services: { bodyReplacer } }) {
    const replace = async (execution: RequestExecution): Promise<undefined> => {
      const { exchange } = execution
      const body = await holdBody(exchange, MAX_REPLACED_BYTES)
      if (body === undefined) return undefined // The client has disconnected.
      const replaced = await replaceIn(bodyReplacer, body, exchange.fields, replacements, execution)
      execution.results.request_body_find_replace = report(replaced)
      if (replaced === undefined) return undefined
      replaceHeldBody(exchange, toBuffer(replaced.body))
      for (const name of ['content-encoding', ...DIGEST_FIELDS]) exchange.fields.remove(name)
      execution.headersChanged()
      return undefined
    }
    return (execution) => {
      const { exchange } = execution
      if (exchange.hasBody && isReadableCoding(codingOf(exchange.fields))) return replace(execution)
      execution.results.request_body_find_replace = report(undefined)
      return undefined
    }
  },
}

export const responseBodyFindReplace: Implementation<'response-body-find-replace'> = {
  on_http_response({ replacements }, { services: { bodyReplacer } }) {
    const replace = async (execution: ResponseExecution): Promise<undefined> => {
      const { response } = execution
      const body = response.body ?? (await readBody(execution))
      if (body === undefined) return undefined // The client has disconnected.
      const replaced = await replaceIn(bodyReplacer, body, response.fields, replacements, execution)
      execution.results.response_body_find_replace = report(replaced)
      response.body = replaced === undefined ? body : toBuffer(replaced.body)
      if (replaced !== undefined) describeChange(response.fields)
      execution.headersChanged()
      return undefined
    }
    return (execution) => {
      if (isReplaceable(execution)) return replace(execution)
      // What a GET would get is not known.
      if (execution.exchange.head.method === 'HEAD') execution.response.length = -1
      execution.results.response_body_find_replace = report(undefined)
      return undefined
    }
  },
}

export const sseFindReplace: Implementation<'sse-find-replace'> = {
  on_event_stream_message({ replacements }, { services: { bodyReplacer } }) {
    return async (execution) => {
      const { message } = execution
      const matches: ReplacementMatch[] = []
      const budget = createSearchBudget(MAX_MESSAGE_WORK)
      const maxWork = MAX_REPLACEMENT_WORK / replacements.length
      for (const [index, { field, ...replacement }] of replacements.entries()) {
        const value = message.get(field)
        if (value === undefined) continue
        const replaced = await replaceValue(bodyReplacer, value, replacement, execution, { budget, maxWork })
        if (replaced === undefined) continue
        message.set(field, replaced.text)
        matches.push(...replaced.matches.map((content) => ({ index, content })))
      }
      execution.results.sse_find_replace = report({ matches })
      return undefined
    }
  },
}

/** Replaces in a short text: on the event loop, or in a thread when that takes long. Undefined when nothing matches. */
async function replaceValue(
  replacer: BodyReplacer,
  value: string,
  replacement: Replacements[number],
  execution: MessageExecution,
  { budget, maxWork }: { readonly budget: ChargeSteps; readonly maxWork: number },
): Promise<{ text: string; matches: readonly string[] } | undefined> {
  try {
    const to = replacement.to.evaluate(execution)
    const regex = patternOf(replacement.from, execution, budget)
    const replaced = replaceAll(value, { regex, to }, budget)
    return replaced.matches.length === 0 ? undefined : replaced
  } catch (error) {
    if (!(error instanceof SearchTooLong)) throw error
  }
  const result = await replaceIn(replacer, Buffer.from(value), NO_FIELDS, [replacement], execution, maxWork)
  return (
    result && {
      text: toBuffer(result.body).toString(),
      matches: result.matches.map(({ content }) => content),
    }
  )
}

const NO_FIELDS = new HeaderFields('')

/** A stream of events would never end, and a part of a document may break a match in two. */
function isReplaceable({ response }: ResponseExecution): boolean {
  const type = (response.fields.get('content-type') ?? '').toLowerCase()
  return (
    response.hasBody &&
    response.status !== 206 &&
    !type.startsWith('text/event-stream') &&
    isReadableCoding(codingOf(response.fields))
  )
}

async function readBody({ exchange, response }: ResponseExecution): Promise<Buffer | undefined> {
  if (response.length > MAX_REPLACED_BYTES)
    throw new PolicyFailure(`the response body has more than ${MAX_REPLACED_BYTES / 1024} KiB`)
  return exchange.readResponseBody(MAX_REPLACED_BYTES)
}

function replaceIn(
  replacer: BodyReplacer,
  body: Buffer,
  fields: HeaderFields,
  replacements: Replacements,
  execution: Execution,
  maxWork = MAX_REPLACEMENT_WORK,
): Promise<ReplacementResult> {
  return replacer.replace(execution.context.accountId, {
    body,
    coding: codingOf(fields),
    replacements: replacements.map(({ from, to }) => ({
      from: from.template.evaluate(execution),
      to: to.evaluate(execution),
    })),
    maxWork,
  })
}

const codingOf = (fields: HeaderFields) => trimOws(fields.getAll('content-encoding').join(',')).toLowerCase()

/** The body is sent without coding, and is no longer what its tag and digests describe. */
function describeChange(fields: HeaderFields): void {
  for (const name of ['content-encoding', 'accept-ranges', ...DIGEST_FIELDS]) fields.remove(name)
  const etag = fields.get('etag')
  if (etag !== undefined && !etag.startsWith('W/')) fields.set('ETag', `W/${etag}`)
}

function report({ matches = [] }: { readonly matches?: readonly ReplacementMatch[] } = {}) {
  return {
    replacements: fromJson(
      matches.map(({ index, content }) => ({ replacement_index: index, matched_content: content })),
    ),
  }
}

const toBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
