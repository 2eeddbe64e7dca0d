import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from './atomic-file.ts'

/** What `credentials.json` in the data directory tells programs on this machine: where everything is, and how to get in. */
export interface CredentialsFile {
  readonly api_url: string
  readonly api_key: string | null
  readonly authtoken: string | null
  readonly agent_addr: string | null
  readonly ca_file: string
  readonly http_url: string | null
  readonly https_url: string | null
  readonly ssh_addr: string | null
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'credentials.json')
}

/** The file as it stands; undefined when there is none that can be read. */
export async function readCredentialsFile(dataDir: string): Promise<Partial<CredentialsFile> | undefined> {
  try {
    return JSON.parse(await readFile(credentialsPath(dataDir), 'utf8')) as Partial<CredentialsFile>
  } catch {
    return undefined
  }
}

/** Writes the file as a whole, readable for its owner alone. */
export async function writeCredentialsFile(dataDir: string, content: CredentialsFile): Promise<void> {
  await writeFileAtomic(credentialsPath(dataDir), `${JSON.stringify(content, null, 2)}\n`, 0o600)
}
