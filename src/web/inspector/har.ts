import { ipOf } from '../shared/units.ts'
import { type Capture, type CapturedMessage, listFrames } from './api.ts'
import { kindOf, mediaType, pairsOf, queryOf } from './content.ts'
import { urlOf } from './copy-as.ts'
import { withoutCredentials } from './credential-headers.ts'
import { asText, type Message, readMessages, toBase64 } from './message.ts'

const PAGE = 500

/** Captures as an HTTP archive (HAR 1.2), oldest first. */
export async function toHar(captures: readonly Capture[], version: string): Promise<object> {
  const entries: object[] = []
  for (const capture of captures) entries.push(await entryOf(capture))
  return { log: { version: '1.2', creator: { name: 'Adit', version }, entries } }
}

async function entryOf(capture: Capture): Promise<object> {
  const { request, response } = await readMessages(capture)
  const time = capture.duration / 1e6
  return {
    startedDateTime: capture.start,
    time,
    request: {
      method: capture.request.method,
      url: urlOf(capture, undefined),
      httpVersion: capture.request.proto,
      cookies: [],
      headers: headersOf(request),
      queryString: namedValues(queryOf(capture.request.uri)),
      ...sizes(capture.request, request),
      ...(request.body.length > 0 ? { postData: postData(request) } : {}),
    },
    response: {
      status: capture.response?.status_code ?? 0,
      statusText: capture.response?.status.replace(/^\d+ ?/, '') ?? '',
      httpVersion: capture.response?.proto ?? '',
      cookies: [],
      headers: response ? headersOf(response) : [],
      redirectURL: capture.response?.headers.Location?.[0] ?? '',
      ...(capture.response && response
        ? sizes(capture.response, response)
        : { headersSize: -1, bodySize: -1 }),
      content: content(response),
    },
    ...(capture.frames && capture.response?.status_code === 101
      ? { _resourceType: 'websocket', _webSocketMessages: await webSocketMessages(capture.id) }
      : {}),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    comment: [
      `${capture.id} from ${ipOf(capture.remote_addr)}`,
      ...request.notes,
      ...(response?.notes ?? []),
    ].join(' '),
  }
}

/** Messages as browsers write them into an archive: opcode, and text or base64. */
async function webSocketMessages(id: string): Promise<object[]> {
  const messages: object[] = []
  for (let after = 0; ; ) {
    const { frames } = await listFrames(id, after, PAGE)
    for (const { from, time, kind, opcode, text, base64, index } of frames) {
      after = index
      if (kind !== 'text' && kind !== 'binary') continue
      const type = from === 'client' ? 'send' : 'receive'
      messages.push({ type, time: Date.parse(time) / 1000, opcode, data: text ?? base64 ?? '' })
    }
    if (frames.length < PAGE) return messages
  }
}

const headersOf = ({ headers }: Message) => namedValues(withoutCredentials(headers))

const namedValues = (pairs: readonly [string, string][]) => pairs.map(([name, value]) => ({ name, value }))

const sizes = (captured: CapturedMessage, message: Message) => ({
  headersSize: message.headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 2),
  bodySize: captured.body_size,
})

function postData(message: Message): object {
  const text = asText(message.body)
  const form = kindOf(message.contentType, message.body.length, text) === 'form'
  return {
    mimeType: message.contentType,
    text: text ?? toBase64(message.body),
    ...(form ? { params: namedValues(pairsOf(text ?? '')) } : {}),
    ...(text === undefined ? { comment: 'base64' } : {}),
  }
}

function content(message: Message | undefined): object {
  if (!message) return { size: 0, mimeType: '' }
  const text = asText(message.body)
  const type = message.contentType || mediaType('application/octet-stream')
  if (text !== undefined) return { size: message.body.length, mimeType: type, text }
  return { size: message.body.length, mimeType: type, text: toBase64(message.body), encoding: 'base64' }
}
