import { useEffect, useMemo, useState } from 'react'
import { formatBytes } from '../../shared/units.ts'
import { type ContentKind, detectKind, graphqlOperation, parseMediaType, parsePairs } from './content.ts'
import { LongText, TokenText } from './long-text.tsx'
import { decodeText, type Message } from './message.ts'
import { Notes } from './message-view.tsx'
import { parseMultipart } from './multipart.ts'
import { PairTable } from './pair-table.tsx'
import { formatJson, formatXml } from './pretty.ts'

/** Shows a body according to its type, but only ever as text, a table or a bitmap image. */
export function BodyView({ message }: { message: Message }) {
  const { body, contentType } = message
  const text = useMemo(() => decodeText(body), [body])
  const kind = detectKind(contentType, body.length, text)
  return (
    <>
      <p className="body-facts">
        {kind === 'empty' ? 'No body' : `${formatBytes(body.length)} · ${contentType || 'no content type'}`}
      </p>
      <Notes message={message} />
      <Content kind={kind} message={message} text={text ?? ''} />
    </>
  )
}

function Content({ kind, message, text }: { kind: ContentKind; message: Message; text: string }) {
  switch (kind) {
    case 'empty':
      return null
    case 'json':
      return <Json text={text} />
    case 'xml':
      return <Xml text={text} />
    case 'form':
      return <PairTable caption="Form" pairs={parsePairs(text)} />
    case 'multipart':
      return <Multipart message={message} />
    case 'image':
      return <ImageView body={message.body} type={parseMediaType(message.contentType)} />
    case 'text':
      return <LongText text={text} label="Body" />
    case 'binary':
      return <p className="note">Binary data. See the Binary tab.</p>
  }
}

function Json({ text }: { text: string }) {
  const pretty = useMemo(() => formatJson(text), [text])
  const operation = useMemo(() => graphqlOperation(text), [text])
  if ('problem' in pretty) {
    return (
      <>
        <p className="note error">{pretty.problem}</p>
        <LongText text={text} label="Body" />
      </>
    )
  }
  return (
    <>
      {operation !== undefined && <p className="note">GraphQL operation: {operation}</p>}
      <TokenText tokens={pretty.tokens} label="Body" />
    </>
  )
}

function Xml({ text }: { text: string }) {
  const tokens = useMemo(() => formatXml(text), [text])
  return tokens ? <TokenText tokens={tokens} label="Body" /> : <LongText text={text} label="Body" />
}

function Multipart({ message }: { message: Message }) {
  const parts = useMemo(() => parseMultipart(message.body, message.contentType), [message])
  if (!parts) return <p className="note error">The content type has no multipart boundary.</p>
  const pairs = parts.map(({ name, filename, contentType, size, text }): [string, string] => {
    if (filename === undefined) return [name, text ?? `${formatBytes(size)} of binary data`]
    return [name, `${filename} · ${contentType || 'no content type'} · ${formatBytes(size)}`]
  })
  return <PairTable caption="Parts" pairs={pairs} />
}

function ImageView({ body, type }: { body: Uint8Array; type: string }) {
  const [url, setUrl] = useState('')
  const [broken, setBroken] = useState(false)
  useEffect(() => {
    const objectUrl = URL.createObjectURL(new Blob([new Uint8Array(body)], { type }))
    setUrl(objectUrl)
    setBroken(false)
    return () => URL.revokeObjectURL(objectUrl)
  }, [body, type])
  if (broken) return <p className="note">The browser cannot display this image.</p>
  return url === '' ? null : <img className="picture" src={url} alt="Body" onError={() => setBroken(true)} />
}
