import { lookup } from 'node:dns/promises'
import { withPrintedCodes } from '../../base/process/drop-in.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { hideSecrets } from '../../base/text/serialize-error.ts'
import { hideUrlSecrets } from '../../base/text/url-secrets.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { VERSION } from '../../base/version.ts'
import type { AgentSession, AuthResponse } from '../../protocol/index.ts'
import { ProtocolError, startAgentSession } from '../../protocol/index.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Env } from '../config/paths.ts'
import { writePrivateFile } from '../config/write.ts'
import { dialServer, probeFirstHop, proxyOf, resolveAll } from '../connect/dial.ts'
import type { ServerLocation } from '../connect/location.ts'
import { ServerAddresses } from '../connect/server-addresses.ts'
import { type AgentSettings, resolveSettings } from '../settings.ts'
import { appendCode, diagnosisErrors } from './documentation.ts'

interface Check {
  section: string
  title: string
  ok: boolean
  detail: string
  /** The error code, if the problem has one. */
  code?: string
}

type RunCheck = (
  section: string,
  title: string,
  error: { readonly code: number } | undefined,
  work: () => Promise<string>,
) => Promise<boolean>

/** Checks every step up to a working tunnel and returns the exit code. */
export async function diagnose(
  keys: AgentKeys,
  options: { family: 4 | 6 | undefined; report: string | undefined; json: boolean },
  env: Env,
  write: (text: string) => void,
): Promise<number> {
  const checks: Check[] = []
  const print = options.json ? () => {} : write
  const run: RunCheck = async (section, title, error, work) => {
    const code = error === undefined ? undefined : `ERR_ADIT_${error.code}`
    const result = await runCheck(section, title, code, work)
    result.detail = redactDetail(result.detail, keys)
    if (checks.at(-1)?.section !== section) print(`${checks.length > 0 ? '\n' : ''}${section}\n`)
    checks.push(result)
    const detail = result.ok && result.detail ? ` ${result.detail}` : ''
    print(`  ${title.padEnd(44)} ${result.ok ? '[ OK ]' : '[ FAIL ]'}${detail}\n`)
    return result.ok
  }

  const { family } = options
  let settings: AgentSettings | undefined
  await run('This machine', 'Configuration and server address', undefined, async () => {
    settings = resolveSettings(keys, env)
    settings.dial.family = family
    return resolveLocations(settings)
      .map(({ host, port }) => joinHostPort(host, port))
      .join(', ')
  })
  await run('This machine', 'Name localhost', diagnosisErrors.resolve, async () => {
    const addresses = await lookup('localhost', { all: true, family: family ?? 0 })
    return addresses.map(({ address }) => address).join(', ')
  })
  if (settings)
    for (const location of resolveLocations(settings))
      if (await checkNetwork(location, settings, run)) await checkServer(location, settings, run)

  const failures = checks.filter(({ ok }) => !ok)
  printFailures(failures, print)
  const report = {
    version: VERSION,
    node: process.version,
    platform: process.platform,
    ok: failures.length === 0,
    config: redactConfig(keys),
    checks,
  }
  const text = `${JSON.stringify(report, null, 2)}\n`
  if (options.json) write(text)
  if (options.report !== undefined) {
    writePrivateFile(options.report, text)
    print(`The report was written to ${options.report}\n`)
  }
  return failures.length > 0 ? 1 : 0
}

async function runCheck(
  section: string,
  title: string,
  code: string | undefined,
  work: () => Promise<string>,
): Promise<Check> {
  try {
    return { section, title, ok: true, detail: await work() }
  } catch (error) {
    // The server's error code is more specific than the code of the step.
    const errorCode = (error instanceof ProtocolError ? error.code : undefined) ?? code
    const { message } = error as Error
    return {
      section,
      title,
      ok: false,
      detail: message,
      ...(errorCode === undefined ? {} : { code: errorCode }),
    }
  }
}

function printFailures(failures: readonly Check[], print: (text: string) => void): void {
  if (failures.length === 0) {
    print('\nNo problems found.\n')
    return
  }
  print('\nProblems found:\n')
  for (const { section, title, detail, code } of failures) {
    print(
      `  ${section}: ${title}\n    ${withPrintedCodes(appendCode(detail, code)).replace(/\n+/g, '\n    ')}\n`,
    )
  }
}

function resolveLocations({ location, relocate }: AgentSettings): readonly ServerLocation[] {
  return relocate?.() ?? [location]
}

/** Checks the network path to the first hop. No third party is contacted. */
async function checkNetwork(
  location: ServerLocation,
  settings: AgentSettings,
  run: RunCheck,
): Promise<boolean> {
  const { dial } = settings
  const section = resolveLocations(settings).length > 1 ? `Internet to ${location.host}` : 'Internet'
  const proxy = proxyOf(location, dial)
  const { host } = proxy ?? location
  const suffix = proxy ? ' of the proxy' : ''
  const resolved = await run(
    section,
    `Name resolution${suffix}`,
    proxy ? diagnosisErrors.resolveProxy : diagnosisErrors.resolve,
    async () => {
      try {
        return (await resolveAll(host, dial)).join(', ')
      } catch (error) {
        throw new Error(`${host}: ${describeNetworkError(error)}`, { cause: error })
      }
    },
  )
  if (!resolved) return false
  return run(section, `TCP connection${proxy ? ' to the proxy' : ''}`, diagnosisErrors.tcp, async () => {
    await probeFirstHop(location, dial)
    return ''
  })
}

async function checkServer(location: ServerLocation, settings: AgentSettings, run: RunCheck): Promise<void> {
  const { dial } = settings
  const section = `Server ${location.host}:${location.port}`
  const suffix = proxyOf(location, dial) === undefined ? '' : ' through the proxy'
  const tlsOk = await run(section, `TLS and certificate${suffix}`, diagnosisErrors.tls, async () => {
    const socket = await dialServer(location, dial)
    const version = socket.getProtocol() ?? ''
    socket.destroy()
    return version
  })
  if (!tlsOk) return
  let session: AgentSession | undefined
  await run(section, 'Agent protocol and authtoken', diagnosisErrors.protocol, async () => {
    session = await startAgentSession(await dialServer(location, dial), {
      identity: {
        authtoken: location.authtoken,
        version: VERSION,
        userAgent: `adit/${VERSION}`,
        clientType: 'adit',
        os: process.platform,
        arch: process.arch,
        metadata: 'diagnose',
        maxLegs: settings.legs,
        commands: {
          restart: 'a diagnosis ends by itself',
          stop: 'a diagnosis ends by itself',
          update: 'a diagnosis ends by itself',
        },
      },
      onProxy: (_header, stream) => stream.reset(),
      onCommand: () => Promise.resolve(),
      onClose() {},
    })
    return `account ${session.authResponse.Extra.AccountName || '-'}, region ${session.authResponse.Extra.Region || '-'}`
  })
  if (session !== undefined) await checkLegs(session.authResponse, location, settings, run)
  session?.close()
}

/** The connections that a session may have, and the other nodes that the server names for them. */
async function checkLegs(
  { Extra: { MaxLegs = 1, ConnectAddresses } }: AuthResponse,
  location: ServerLocation,
  settings: AgentSettings,
  run: RunCheck,
): Promise<void> {
  const named = new ServerAddresses(settings.dial)
  named.learn(
    location,
    ConnectAddresses.map(({ ServerAddr }) => ServerAddr),
  )
  const checked = new Set(resolveLocations(settings).map(({ host, port }) => joinHostPort(host, port)))
  const section = `Server ${location.host}:${location.port}`
  await run(section, 'Connections of a session', undefined, async () => `up to ${MaxLegs}`)
  for (const node of named.nodes) {
    const address = joinHostPort(node.host, node.port)
    if (checked.has(address)) continue
    await run(section, `Node ${address}`, diagnosisErrors.tcp, async () => {
      const socket = await dialServer(node, settings.dial)
      socket.destroy()
      return ''
    })
  }
}

/** The configuration without secrets, including those in URLs. */
function redactConfig({ authtoken, api_key, proxy_url, ...rest }: AgentKeys): object {
  const redact = (value: string | undefined) => (value === undefined ? undefined : '[hidden]')
  const entries = Object.entries(rest).map(([key, value]) => {
    if (typeof value !== 'string') return [key, value]
    return [key, key.endsWith('_url') ? hideUrlSecrets(value) : hideSecrets(value)]
  })
  return {
    ...Object.fromEntries(entries),
    authtoken: redact(authtoken),
    api_key: redact(api_key),
    proxy_url: redact(proxy_url),
  }
}

/** Hides secrets in the result of a check, which may quote a setting or what a server said. */
function redactDetail(detail: string, { authtoken, api_key }: AgentKeys): string {
  let text = detail
  for (const secret of [authtoken, api_key]) if (secret) text = text.replaceAll(secret, '[hidden]')
  return hideSecrets(text)
}
