import { ScrollRegion } from '../../shared/scroll-region.tsx'
import { asAdit, asCurl } from '../equivalent.ts'
import { useOpenApi } from '../openapi.ts'
import { CopyButton } from './copy-button.tsx'

/** The same action as a line for a shell, with curl and with `adit api`. */
export function Equivalent({
  method,
  path,
  body,
}: {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: Readonly<Record<string, unknown>> | undefined
}) {
  const { document } = useOpenApi()
  const call = { method, path, body }
  const curl = asCurl(call, document?.servers[0]?.url ?? location.origin)
  const adit = document && asAdit(call, document)
  return (
    <details className="equivalent">
      <summary>Do the same from a shell</summary>
      {adit && <Line name="adit" text={adit} />}
      <Line name="curl" text={curl} />
    </details>
  )
}

function Line({ name, text }: { name: string; text: string }) {
  return (
    <div className="equivalent-line">
      <header>
        <span>{name === 'adit' ? 'adit api' : name}</span>
        <CopyButton text={text} />
      </header>
      <ScrollRegion label={`The same with ${name}`}>
        <pre>{text}</pre>
      </ScrollRegion>
    </div>
  )
}
