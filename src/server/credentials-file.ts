import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/process/atomic-file.ts'

/** `credentials.json` in the data directory: addresses and credentials for programs on this machine. */
export interface CredentialsFile {
  readonly api_url: string
  /** Where the dashboard is for people on other machines, or on this one if it is not public. */
  readonly dashboard_url: string | null
  readonly api_key: string | null
  readonly authtoken: string | null
  readonly agent_addr: string | null
  /** Where agents on other machines connect. */
  readonly public_agent_addr: string | null
  readonly ca_file: string
  readonly http_url: string | null
  readonly https_url: string | null
  readonly ssh_addr: string | null
  /** Where SSH clients on other machines connect. */
  readonly public_ssh_addr: string | null
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'credentials.json')
}

/** Reads the file; undefined when it is missing or unreadable. */
export async function readCredentialsFile(dataDir: string): Promise<Partial<CredentialsFile> | undefined> {
  try {
    return JSON.parse(await readFile(credentialsPath(dataDir), 'utf8')) as Partial<CredentialsFile>
  } catch {
    return undefined
  }
}

/** Writes the file atomically, readable by its owner only. */
export async function writeCredentialsFile(dataDir: string, content: CredentialsFile): Promise<void> {
  await writeFileAtomic(credentialsPath(dataDir), `${JSON.stringify(content, null, 2)}\n`, 0o600)
}
