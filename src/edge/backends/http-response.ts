import type { HttpResponseBackend } from '../../resources/index.ts'
import type { Kept } from '../compile/snapshot.ts'
import { isFieldValue } from '../message/ascii.ts'
import type { Answer } from '../response.ts'
import { nobody } from './balancer.ts'
import type { BackendBuild } from './context.ts'

/** Fields that frame the answer or belong to the connection; the edge writes them. */
const OURS = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Answers every request with the same response. */
export const httpResponse: BackendBuild<Kept<typeof HttpResponseBackend>> = (
  { status_code, headers, body },
  { http },
) => {
  if (!http) return nobody
  let fields = ''
  for (const [name, value] of Object.entries(headers ?? {})) {
    // Fields carry bytes: text beyond Latin-1 goes out in UTF-8.
    const bytes = Buffer.from(value).toString('latin1')
    if (!OURS.has(name) && isFieldValue(bytes)) fields += `${name}: ${bytes}\r\n`
  }
  const answer: Answer = { status: status_code, fields, body: Buffer.from(body) }
  return { online: () => true, first: () => answer, next: () => answer }
}
