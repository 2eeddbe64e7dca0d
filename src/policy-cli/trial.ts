import { isIP } from 'node:net'
import { CommandFailure } from '../base/process/command-line.ts'
import type { Output } from '../command-line/index.ts'
import {
  createInlineReplacer,
  TrialError,
  type TrialOptions,
  type TrialRequest,
  trialToJson,
  tryRequest,
} from '../edge/policy/trial/index.ts'
import { openIpData, type Policy, readPolicy } from '../policy/index.ts'
import { readPolicyFile } from './check.ts'
import { attachmentOf, readFile, readIpFiles } from './policy-file.ts'
import { trialToText } from './trial-report.ts'

/** What stands for the outside in a trial. */
export interface AssumptionFlags {
  readonly edge: boolean
  readonly json: boolean
  readonly secrets: readonly string[]
  readonly signedInAs: string | undefined
  /** Files with facts about addresses. */
  readonly ipData: readonly string[]
}

export interface TestOptions extends AssumptionFlags {
  readonly request: string | undefined
  readonly headers: readonly string[]
  /** The body itself, or `@` and the name of a file. */
  readonly body: string | undefined
  readonly clientIp: string | undefined
  readonly responseStatus: string | undefined
  readonly responseHeaders: readonly string[]
}

/** Reserved for documentation: no rule about real networks matches it by accident. */
const DEFAULT_CLIENT_IP = '203.0.113.1'

/** `adit policy test FILE --request 'GET URL'`: prints what each rule of the policy does with a request. */
export async function testPolicy(file: string, options: TestOptions, terminal: Output): Promise<number> {
  const request = parseRequest(options)
  const response = {
    status: parseStatus(options.responseStatus),
    headers: options.responseHeaders.map((text) => parseHeader(text, '--response-header')),
    body: Buffer.alloc(0),
  }
  return runTrial(file, request, response, options, terminal)
}

/** Runs a request through the policy of a file and prints what happened. The exit code is 1 for a policy with mistakes. */
export async function runTrial(
  file: string,
  request: TrialRequest,
  response: TrialOptions['response'],
  options: AssumptionFlags,
  terminal: Output,
): Promise<number> {
  const protocol = request.url.protocol === 'http:' ? 'http' : 'https'
  const { edge, json, signedInAs } = options
  const attachment = attachmentOf({ protocol, edge })
  const policy = readPolicyFile(file, json, terminal, (text) => readPolicy(text, attachment))
  if (policy === undefined) return 1
  const secrets = parseSecrets(options.secrets)
  const trial = await tryOrFail(policy, request, {
    response,
    signedInAs,
    bodyReplacer: createInlineReplacer(),
    ipData: openIpData(readIpFiles(options.ipData)),
    readSecret: (vault, name) => secrets.get(`${vault}/${name}`),
  })
  terminal.out(json ? `${JSON.stringify(trialToJson(trial))}\n` : trialToText(trial))
  return 0
}

async function tryOrFail(policy: Policy, request: TrialRequest, options: TrialOptions) {
  try {
    return await tryRequest(policy, request, options)
  } catch (error) {
    throw error instanceof TrialError ? new CommandFailure(error.message) : error
  }
}

function parseRequest({ request, headers, body, clientIp = DEFAULT_CLIENT_IP }: TestOptions): TrialRequest {
  const [, method = 'GET', address = ''] = /^(?:([A-Za-z]+)\s+)?(\S+)$/.exec(request ?? '') ?? []
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandFailure(
      "--request must be a method and a URL, such as --request 'POST https://app.example.com/login'",
    )
  if (isIP(clientIp) === 0) throw new CommandFailure(`--client-ip must be an IP address, not "${clientIp}"`)
  return {
    method: method.toUpperCase(),
    url,
    headers: headers.map((text) => parseHeader(text, '--header')),
    body: body?.startsWith('@') ? readFile(body.slice(1)) : Buffer.from(body ?? ''),
    clientAddress: clientIp,
  }
}

function parseHeader(text: string, flag: string): readonly [name: string, value: string] {
  const colon = text.indexOf(':')
  if (colon <= 0) throw new CommandFailure(`${flag} must be "name: value", not "${text}"`)
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
}

function parseStatus(text = '200'): number {
  if (!/^[2-5]\d\d$/.test(text))
    throw new CommandFailure(`--response-status must be between 200 and 599, not "${text}"`)
  return Number(text)
}

function parseSecrets(texts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const [, name, value] = /^([^/=]+\/[^/=]+)=(.*)$/s.exec(text) ?? []
      if (name === undefined || value === undefined)
        throw new CommandFailure(
          `--secret must be vault/name=value, not "${text.slice(0, text.indexOf('='))}…"`,
        )
      return [name, value]
    }),
  )
}
