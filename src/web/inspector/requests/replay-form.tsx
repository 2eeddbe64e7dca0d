import { type FormEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { CaptureView, ReplayChanges, TunnelView } from '../../../agent/local-api/page-data.ts'
import { LocalApiError } from '../api.ts'
import { decodeText, headerValue, type Message } from '../message/message.ts'
import './replay-form.css'

/** Computed from the body, so not editable. */
const FRAMING_HEADERS = new Set(['content-length', 'transfer-encoding', 'trailer'])
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

interface Props {
  capture: CaptureView
  request: Message
  tunnels: readonly TunnelView[]
  onSend(changes: ReplayChanges, tunnelName: string): Promise<void>
  onCancel(): void
}

interface Field {
  key: number
  name: string
  value: string
}

/** A form to edit a captured request and replay it. */
export function ReplayForm({ capture, request, tunnels, onSend, onCancel }: Props) {
  const id = useId()
  const methodInput = useRef<HTMLInputElement>(null)
  const [original] = useState(() => toEditable(capture, request))
  const [method, setMethod] = useState(capture.request.method)
  const [path, setPath] = useState(capture.request.uri)
  const [fields, setFields] = useState<readonly Field[]>(() =>
    original.headers.map(([name, value], key) => ({ key, name, value })),
  )
  const [body, setBody] = useState(original.body ?? '')
  const [tunnel, setTunnel] = useState(() =>
    tunnels.some(({ name }) => name === capture.tunnel_name) ? capture.tunnel_name : (tunnels[0]?.name ?? ''),
  )
  const [problem, setProblem] = useState('')
  useEffect(() => methodInput.current?.focus(), [])

  const send = async (event?: FormEvent) => {
    event?.preventDefault()
    const headers = fields.filter(({ name }) => name.trim() !== '').map(toPair)
    const changes: ReplayChanges = {}
    if (method !== capture.request.method) changes.method = method
    if (path !== capture.request.uri) changes.path = path
    if (original.altered || JSON.stringify(headers) !== JSON.stringify(original.headers))
      changes.headers = headers
    if (original.body !== undefined && (original.altered || body !== original.body)) changes.body = body
    try {
      await onSend(changes, tunnel)
    } catch (error) {
      setProblem(error instanceof LocalApiError ? error.message : `Failed: ${(error as Error).message}`)
    }
  }
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void send()
  }

  return (
    <form className="replay-form" aria-labelledby={`${id}-title`} onSubmit={send} onKeyDown={keyDown}>
      <h3 id={`${id}-title`}>Replay with changes</h3>
      <div className="line">
        <label>
          Method
          <input
            ref={methodInput}
            value={method}
            onChange={(event) => setMethod(event.target.value)}
            list={`${id}-methods`}
            required
            {...PLAIN_INPUT}
          />
        </label>
        <datalist id={`${id}-methods`}>
          {METHODS.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label className="grows">
          Path
          <input value={path} onChange={(event) => setPath(event.target.value)} required {...PLAIN_INPUT} />
        </label>
      </div>
      <HeaderFields fields={fields} onFields={setFields} />
      {original.body === undefined ? (
        <p className="note">The body is not text; it is sent as it was captured.</p>
      ) : (
        <label>
          Body
          <textarea
            rows={Math.min(16, Math.max(3, original.body.split('\n', 20).length))}
            value={body}
            onChange={(event) => setBody(event.target.value)}
            {...PLAIN_INPUT}
          />
        </label>
      )}
      {original.notes.map((note) => (
        <p className="note" key={note}>
          {note}
        </p>
      ))}
      {problem !== '' && (
        <p className="note error" role="alert">
          {problem}
        </p>
      )}
      <div className="actions">
        <button type="submit" className="main">
          Send
        </button>
        {tunnels.length > 1 && <TunnelSelect tunnels={tunnels} value={tunnel} onValue={setTunnel} />}
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function HeaderFields({
  fields,
  onFields,
}: {
  fields: readonly Field[]
  onFields(fields: readonly Field[]): void
}) {
  const change = (key: number, changed: Partial<Field>) =>
    onFields(fields.map((field) => (field.key === key ? { ...field, ...changed } : field)))
  const add = () => onFields([...fields, { key: nextKey(fields), name: '', value: '' }])
  return (
    <fieldset>
      <legend>Headers</legend>
      {fields.map(({ key, name, value }, index) => (
        <div className="field" key={key}>
          <input
            aria-label={`Header ${index + 1}`}
            value={name}
            onChange={(event) => change(key, { name: event.target.value })}
            {...PLAIN_INPUT}
          />
          <input
            aria-label={`Value of ${name || `header ${index + 1}`}`}
            value={value}
            onChange={(event) => change(key, { value: event.target.value })}
            {...PLAIN_INPUT}
          />
          <button
            type="button"
            aria-label={`Remove ${name || `header ${index + 1}`}`}
            onClick={() => onFields(fields.filter((field) => field.key !== key))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" onClick={add}>
        Add header
      </button>
      <p className="note">Content-Length is computed when the request is sent.</p>
    </fieldset>
  )
}

interface TunnelSelectProps {
  tunnels: readonly TunnelView[]
  value: string
  onValue(name: string): void
}

function TunnelSelect({ tunnels, value, onValue }: TunnelSelectProps) {
  return (
    <select aria-label="Tunnel" value={value} onChange={(event) => onValue(event.target.value)}>
      {tunnels.map(({ ID, name }) => (
        <option key={ID} value={name}>
          {name}
        </option>
      ))}
    </select>
  )
}

const PLAIN_INPUT = { spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' } as const

const toPair = ({ name, value }: Field): [string, string] => [name.trim(), value]
const nextKey = (fields: readonly Field[]) => Math.max(-1, ...fields.map(({ key }) => key)) + 1

/** The editable parts of a request; `altered` if they already differ from the captured bytes. */
function toEditable({ request: captured }: CaptureView, request: Message) {
  const notes: string[] = []
  let headers = request.headers.filter(([name]) => !FRAMING_HEADERS.has(name.toLowerCase()))
  const body = decodeText(request.body)
  const encoded = body !== undefined && request.body !== request.plainBody
  if (encoded) {
    headers = headers.filter(([name]) => name.toLowerCase() !== 'content-encoding')
    notes.push(
      `The body is shown and sent without its ${headerValue(request.headers, 'content-encoding')} encoding.`,
    )
  }
  if (captured.truncated)
    notes.push('Only the beginning of the body was captured. The body shown here is sent.')
  if (captured.redacted) notes.push('Some header values were redacted. The values shown here are sent.')
  return { headers, body, notes, altered: encoded || captured.truncated || captured.redacted === true }
}
