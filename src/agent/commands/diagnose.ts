import { lookup } from 'node:dns/promises'
import { joinHostPort } from '../../base/hostport.ts'
import type { AgentSession } from '../../protocol/index.ts'
import { Refusal, startAgentSession } from '../../protocol/index.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Env } from '../config/paths.ts'
import { writePrivately } from '../config/write.ts'
import { dialServer, probeFirstHop, proxyOf, resolveAll } from '../connect/dial.ts'
import type { ServerLocation } from '../connect/location.ts'
import { describeNetworkError } from '../connect/network-reason.ts'
import { type AgentSettings, resolveSettings } from '../settings.ts'
import { VERSION } from '../version.ts'
import { documentationOf, FINDINGS } from './documentation.ts'

interface Check {
  section: string
  title: string
  ok: boolean
  detail: string
  /** What the problem is called, where it has a name. */
  code?: string
}

type Run = (
  section: string,
  title: string,
  code: string | undefined,
  work: () => Promise<string>,
) => Promise<boolean>

/** Looks at every step between here and a working tunnel; gives the exit code. */
export async function diagnose(
  keys: AgentKeys,
  options: { family: 4 | 6 | undefined; report: string | undefined; json: boolean },
  env: Env,
  write: (text: string) => void,
): Promise<number> {
  const checks: Check[] = []
  const say = options.json ? () => {} : write
  const run: Run = async (section, title, code, work) => {
    const result = await attempt(section, title, code, work)
    if (checks.at(-1)?.section !== section) say(`${checks.length > 0 ? '\n' : ''}${section}\n`)
    checks.push(result)
    const detail = result.ok && result.detail ? ` ${result.detail}` : ''
    say(`  ${title.padEnd(44)} ${result.ok ? '[ OK ]' : '[ WARN ]'}${detail}\n`)
    return result.ok
  }

  const { family } = options
  let settings: AgentSettings | undefined
  await run('This machine', 'Configuration and server address', undefined, async () => {
    settings = resolveSettings(keys, env)
    settings.dial.family = family
    return locationsOf(settings)
      .map(({ host, port }) => joinHostPort(host, port))
      .join(', ')
  })
  await run('This machine', 'Name localhost', FINDINGS.resolve, async () => {
    const addresses = await lookup('localhost', { all: true, family: family ?? 0 })
    return addresses.map(({ address }) => address).join(', ')
  })
  if (settings)
    for (const location of locationsOf(settings))
      if (await checkInternet(location, settings, run)) await checkServer(location, settings, run)

  const failed = checks.filter(({ ok }) => !ok)
  sayFindings(failed, say)
  const report = {
    version: VERSION,
    node: process.version,
    platform: process.platform,
    ok: failed.length === 0,
    config: sanitised(keys),
    checks,
  }
  const text = `${JSON.stringify(report, null, 2)}\n`
  if (options.json) write(text)
  if (options.report !== undefined) {
    writePrivately(options.report, text)
    say(`The report was written to ${options.report}\n`)
  }
  return failed.length > 0 ? 1 : 0
}

async function attempt(
  section: string,
  title: string,
  code: string | undefined,
  work: () => Promise<string>,
): Promise<Check> {
  try {
    return { section, title, ok: true, detail: await work() }
  } catch (error) {
    // The server's own word says more than the step it was spoken in.
    const named = (error instanceof Refusal ? error.code : undefined) ?? code
    const { message } = error as Error
    return { section, title, ok: false, detail: message, ...(named === undefined ? {} : { code: named }) }
  }
}

function sayFindings(failed: readonly Check[], say: (text: string) => void): void {
  if (failed.length === 0) {
    say('\nNo problem was found.\n')
    return
  }
  say('\nProblems found:\n')
  for (const { section, title, detail, code } of failed) {
    say(`  ${section}: ${title}\n    ${detail.replaceAll('\n', '\n    ')}\n`)
    if (code === undefined) continue
    const page = documentationOf(code)
    say(`    ${code}${page === undefined ? '' : `\n    ${page}`}\n`)
  }
}

function locationsOf({ location, relocate }: AgentSettings): readonly ServerLocation[] {
  return relocate?.() ?? [location]
}

/** Whether there is a way to whoever is asked first. Nobody else is asked: what is not ours is none of our business. */
async function checkInternet(location: ServerLocation, settings: AgentSettings, run: Run): Promise<boolean> {
  const { dial } = settings
  const section = locationsOf(settings).length > 1 ? `Internet to ${location.host}` : 'Internet'
  const proxy = proxyOf(location, dial)
  const { host } = proxy ?? location
  const of = proxy ? ' of the proxy' : ''
  const resolved = await run(
    section,
    `Name resolution${of}`,
    proxy ? FINDINGS.resolveProxy : FINDINGS.resolve,
    async () => {
      try {
        return (await resolveAll(host, dial)).join(', ')
      } catch (error) {
        throw new Error(`${host}: ${describeNetworkError(error)}`, { cause: error })
      }
    },
  )
  if (!resolved) return false
  return run(section, `TCP connection${proxy ? ' to the proxy' : ''}`, FINDINGS.tcp, async () => {
    await probeFirstHop(location, dial)
    return ''
  })
}

async function checkServer(location: ServerLocation, { dial }: AgentSettings, run: Run): Promise<void> {
  const section = `Server ${location.host}:${location.port}`
  const through = proxyOf(location, dial) === undefined ? '' : ' through the proxy'
  const secured = await run(section, `TLS and certificate${through}`, FINDINGS.tls, async () => {
    const socket = await dialServer(location, dial)
    const version = socket.getProtocol() ?? ''
    socket.destroy()
    return version
  })
  if (!secured) return
  let session: AgentSession | undefined
  await run(section, 'Agent protocol and authtoken', FINDINGS.protocol, async () => {
    session = await startAgentSession(await dialServer(location, dial), {
      identity: {
        authtoken: location.authtoken,
        version: VERSION,
        userAgent: `adit/${VERSION}`,
        clientType: 'adit',
        os: process.platform,
        arch: process.arch,
        metadata: 'diagnose',
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
    return `account ${session.welcome.Extra.AccountName || '-'}, region ${session.welcome.Extra.Region || '-'}`
  })
  session?.close()
}

/** The configuration without what must not be shown, which any address may hold too. */
function sanitised({ authtoken, api_key, proxy_url, ...rest }: AgentKeys): object {
  const hidden = (value: string | undefined) => (value === undefined ? undefined : '[hidden]')
  const shown = Object.entries(rest).map(([key, value]) => [
    key,
    typeof value === 'string' ? value.replace(/\/\/[^/@]*@/, '//[hidden]@') : value,
  ])
  return {
    ...Object.fromEntries(shown),
    authtoken: hidden(authtoken),
    api_key: hidden(api_key),
    proxy_url: hidden(proxy_url),
  }
}
