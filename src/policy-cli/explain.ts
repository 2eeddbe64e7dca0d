import { CommandFailure } from '../base/process/command-line.ts'
import { isJson } from '../base/text/is-json.ts'
import { describeNetworkError } from '../base/text/network-error.ts'
import type { Output } from '../command-line/index.ts'
import type { TrialOptions, TrialRequest } from '../edge/policy/trial/index.ts'
import { readFile } from './policy-file.ts'
import { type AssumptionFlags, runTrial } from './trial.ts'

export interface ExplainOptions extends AssumptionFlags {
  /** An HTTP archive, and which of its entries, counted from 1. */
  readonly har: string | undefined
  readonly entry: string | undefined
  /** The id of a request in the agent's inspector, and the address of its local API. */
  readonly capture: string | undefined
  readonly webAddr: string | undefined
}

interface Exchange {
  readonly request: TrialRequest
  readonly response: TrialOptions['response']
}

const DEFAULT_WEB_ADDR = '127.0.0.1:4040'

/** `adit policy explain FILE`: prints what the policy does with a request that an archive or the inspector holds. */
export async function explainPolicy(
  file: string,
  options: ExplainOptions,
  terminal: Output,
): Promise<number> {
  const { har, entry, capture, webAddr = DEFAULT_WEB_ADDR } = options
  if ((har === undefined) === (capture === undefined))
    throw new CommandFailure(
      'choose a request: --har FILE for an HTTP archive, or --capture ID from the inspector',
    )
  const { request, response } =
    har === undefined ? await readCapture(capture!, webAddr) : readArchive(har, entry)
  return runTrial(file, request, response, options, terminal)
}

interface HarEntry {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: readonly HarField[]
    readonly postData?: { readonly text?: string; readonly encoding?: string }
  }
  readonly response: {
    readonly status: number
    readonly headers: readonly HarField[]
    readonly content?: { readonly text?: string; readonly encoding?: string }
  }
}

interface HarField {
  readonly name: string
  readonly value: string
}

function readArchive(file: string, entryText = '1'): Exchange {
  const text = readFile(file).toString()
  const archive = (isJson(text) ? JSON.parse(text) : undefined) as
    | { readonly log?: { readonly entries?: readonly HarEntry[] } }
    | undefined
  const entries = archive?.log?.entries
  if (!Array.isArray(entries)) throw new CommandFailure(`${file} is not an HTTP archive (HAR)`)
  const entry = /^\d+$/.test(entryText) ? (entries as readonly HarEntry[])[Number(entryText) - 1] : undefined
  if (entry === undefined)
    throw new CommandFailure(
      `--entry must be a number between 1 and ${entries.length}, the requests in ${file}, not "${entryText}"`,
    )
  try {
    return readEntry(entry)
  } catch {
    throw new CommandFailure(`entry ${entryText} of ${file} is not a complete entry of an HTTP archive`)
  }
}

function readEntry({ request, response }: HarEntry): Exchange {
  const pairs = (fields: readonly HarField[]) => fields.map(({ name, value }) => [name, value] as const)
  return {
    request: {
      method: request.method,
      url: new URL(request.url),
      headers: pairs(request.headers),
      body: harBody(request.postData),
      clientAddress: '203.0.113.1',
    },
    response: {
      status: response.status || 200,
      // Archives hold bodies without their content coding.
      headers: pairs(response.headers).filter(([name]) => name.toLowerCase() !== 'content-encoding'),
      body: harBody(response.content),
    },
  }
}

function harBody({ text = '', encoding }: { readonly text?: string; readonly encoding?: string } = {}) {
  return Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8')
}

/** A captured request as the local API shows it (docs/local-api.md). */
interface Capture {
  readonly remote_addr: string
  readonly request: CapturedMessage & { readonly method: string; readonly uri: string }
  readonly response: (CapturedMessage & { readonly status_code: number }) | null
}

interface CapturedMessage {
  readonly headers: Readonly<Record<string, readonly string[]>>
}

async function readCapture(id: string, webAddr: string): Promise<Exchange> {
  const path = `http://${webAddr}/api/requests/http/${encodeURIComponent(id)}`
  const { request, response, remote_addr } = (await getJson(path)) as Capture
  const requestBody = await readBody(path, 'request')
  const first = (name: string) =>
    Object.entries(request.headers).find(([each]) => each.toLowerCase() === name)?.[1][0]
  const scheme = first('x-forwarded-proto') === 'http' ? 'http' : 'https'
  return {
    request: {
      method: request.method,
      url: new URL(`${scheme}://${first('x-forwarded-host') ?? first('host') ?? 'localhost'}${request.uri}`),
      headers: fieldsOf(request, requestBody.decoded),
      body: requestBody.body,
      clientAddress: remote_addr.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''),
    },
    response: await responseOf(path, response),
  }
}

async function responseOf(path: string, response: Capture['response']): Promise<TrialOptions['response']> {
  if (response === null) return { status: 200, headers: [], body: Buffer.alloc(0) }
  const { body, decoded } = await readBody(path, 'response')
  return { status: response.status_code, headers: fieldsOf(response, decoded), body }
}

/** The edge adds the forwarding fields after the policy has run; a decoded body has no coding. */
function fieldsOf({ headers }: CapturedMessage, isDecoded: boolean) {
  return Object.entries(headers)
    .filter(([name]) => !/^x-forwarded-(for|proto|host)$/i.test(name))
    .filter(([name]) => !(isDecoded && name.toLowerCase() === 'content-encoding'))
    .flatMap(([name, values]) => values.map((value) => [name, value] as const))
}

async function readBody(path: string, side: 'request' | 'response') {
  const { base64, decoded } = (await getJson(`${path}/body?side=${side}`)) as {
    readonly base64: string
    readonly decoded: readonly string[]
  }
  return { body: Buffer.from(base64, 'base64'), decoded: decoded.length > 0 }
}

async function getJson(url: string): Promise<unknown> {
  let response: Response
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
  } catch (error) {
    throw new CommandFailure(
      `the agent's local API at ${new URL(url).host} cannot be reached: ${describeNetworkError(error)}. Is an agent running? Set another address with --web-addr.`,
    )
  }
  if (response.status === 404)
    throw new CommandFailure('the inspector has no request with this id; its page shows the ids')
  if (!response.ok) throw new CommandFailure(`the agent's local API answered ${response.status} to ${url}`)
  return response.json()
}
