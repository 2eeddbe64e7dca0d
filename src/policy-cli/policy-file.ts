import { readFileSync } from 'node:fs'
import { CommandFailure } from '../base/process/command-line.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { describeFileError } from '../base/text/file-error.ts'
import { type Attachment, compileIpFile } from '../policy/index.ts'

const PROTOCOLS = ['https', 'http', 'tcp', 'tls'] as const

/** What the flags say the policy is for. */
export interface AttachmentFlags {
  readonly protocol?: string | undefined
  /** The policy is the module of an edge or route. */
  readonly edge: boolean
}

export function attachmentOf({ protocol = 'https', edge }: AttachmentFlags): Attachment {
  const known = PROTOCOLS.find((name) => name === protocol)
  if (known === undefined)
    throw new CommandFailure(`--protocol must be one of ${PROTOCOLS.join(', ')}, not "${protocol}"`)
  if (!edge) return { protocol: known, kind: 'endpoint' }
  if (known === 'http') throw new CommandFailure('there are no edges for http; use --protocol https')
  return { protocol: known, kind: known === 'https' ? 'route' : 'edge' }
}

/** Reads files with facts about addresses: databases in MMDB format, or lists of ranges. */
export const readIpFiles = (files: readonly string[]): Buffer[] =>
  files.map((file) => {
    const bytes = readFile(file)
    try {
      return compileIpFile(bytes, undefined)
    } catch (error) {
      throw new CommandFailure(`${file} cannot be used: ${errorMessage(error)}`)
    }
  })

/** Reads a file; `-` is standard input. */
export function readFile(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${describeFileError(error)}`)
  }
}
