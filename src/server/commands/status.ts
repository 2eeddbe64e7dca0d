import { join } from 'node:path'
import { CommandFailure } from '../../base/process/command-line.ts'
import { isRootTrusted, TRUST_HINT } from '../../base/process/trusted-root.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { describeUnresolved, isLocalDomain, resolvesLocally } from '../../base/values/local-domain.ts'
import { readCredentialsFile } from '../credentials-file.ts'
import type { ServerSettings } from '../settings/settings.ts'
import { formatAddresses } from './address-lines.ts'

const READY_TIMEOUT_MS = 5_000

/** `adit server status`: whether the server of this machine responds, where it listens, and what is left to do. */
export async function describeStatus({ dataDir, domain }: ServerSettings): Promise<string> {
  const credentials = await readCredentialsFile(dataDir)
  if (credentials?.api_url === undefined)
    throw new CommandFailure(
      `no server has used the data directory ${dataDir}, or this user may not read it.\nChoose another one with --data-dir, or start a server: adit server`,
    )
  const { api_url, ca_file, http_url, https_url } = credentials
  const lines = [
    await describeReadiness(api_url),
    ...formatAddresses(credentials),
    `  ${'Data'.padEnd(20)}${dataDir}`,
    `  ${'API key, authtoken'.padEnd(20)}${join(dataDir, 'credentials.json')}`,
  ]
  if (https_url && isLocalDomain(domain) && ca_file !== undefined && !isRootTrusted(ca_file))
    lines.push('', TRUST_HINT)
  const url = URL.parse(http_url ?? https_url ?? '')
  if (url !== null && isLocalDomain(url.hostname)) {
    url.hostname = `app.${url.hostname}`
    if (!(await resolvesLocally(url.hostname))) {
      const [finding, ...remedies] = describeUnresolved(url.origin)
      lines.push('', finding, ...remedies.map((remedy) => `  ${remedy}`))
    }
  }
  return `${lines.join('\n')}\n`
}

async function describeReadiness(apiUrl: string): Promise<string> {
  try {
    const response = await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) })
    return response.ok ? 'The server is ready.' : `The server is not ready: ${(await response.text()).trim()}`
  } catch (error) {
    return `The server does not respond at ${apiUrl}: ${describeNetworkError(error)}. Its addresses when it last started:`
  }
}
