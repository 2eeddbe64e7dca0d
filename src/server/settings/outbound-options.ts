import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ThreadOptions } from '../../base/outbound/outbound-thread.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { ServerSettings } from './settings.ts'

/** What calls to configured URLs may reach, and which authorities they trust beside the public ones. */
export async function readOutboundOptions({
  outboundAllow,
  outboundCa,
}: Pick<ServerSettings, 'outboundAllow' | 'outboundCa'>): Promise<ThreadOptions> {
  if (outboundCa === undefined) return { allow: outboundAllow }
  try {
    const pem = await readFile(outboundCa, 'utf8')
    new X509Certificate(pem)
    return { allow: outboundAllow, extraCa: [pem] }
  } catch (error) {
    throw new CommandFailure(
      `--outbound-ca: ${outboundCa} holds no certificate in PEM: ${errorMessage(error)}`,
    )
  }
}
