import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { CommandFailure } from '../base/process/command-line.ts'

/** Where the management API is, and the key for it, as flags say. */
export interface ApiFlags {
  readonly apiUrl: string | undefined
  readonly apiKey: string | undefined
}

/** The URL of the API and the key to call it with. */
export interface ApiAccess {
  readonly url: string
  readonly key: string
}

const DEFAULT_URL = 'http://127.0.0.1:4080'

/** Finds the API: from flags, then the environment, then the credentials file of a server on this machine. */
export function findApiAccess({ apiKey, apiUrl }: ApiFlags, environment: NodeJS.ProcessEnv): ApiAccess {
  const local = localServer(environment)
  const url = (apiUrl ?? (environment.ADIT_API_URL || local?.api_url || DEFAULT_URL)).replace(/\/+$/, '')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new CommandFailure(`"${url}" is not the address of an API; use for example ${DEFAULT_URL}.`)
  // The local server's key is sent to that server only.
  const localKey = local?.api_url === url ? local.api_key : undefined
  const key = apiKey ?? (environment.ADIT_API_KEY || localKey)
  if (!key)
    throw new CommandFailure(
      'No API key was found. Pass one with --api-key or ADIT_API_KEY, or save it with "adit config add-api-key KEY".',
    )
  return { url, key }
}

function localServer(environment: NodeJS.ProcessEnv): { api_url?: string; api_key?: string } | undefined {
  const shared = environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share')
  const dataDir = environment.ADIT_DATA_DIR || join(shared, 'adit')
  try {
    return JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  } catch {
    return undefined
  }
}
