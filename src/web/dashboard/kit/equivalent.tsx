import { ScrollRegion } from '../../shared/scroll-region.tsx'
import { type ApiCall, formatAditCommand, formatCurl } from '../equivalent.ts'
import { useOpenApi } from '../openapi.ts'
import { CopyButton } from './copy-button.tsx'
import { ShellText } from './shell-text.tsx'

/** The shell commands for an action, with curl and with `adit api`. */
export function Equivalent({ method, path, body }: ApiCall) {
  return <Equivalents calls={[{ method, path, body }]} />
}

/** The shell commands for an action of several calls. */
export function Equivalents({ calls }: { calls: readonly ApiCall[] }) {
  const { document } = useOpenApi()
  const origin = document?.servers[0]?.url ?? location.origin
  const adit = document && calls.map((call) => formatAditCommand(call, document))
  return (
    <details className="equivalent">
      <summary>Do the same from a shell</summary>
      {adit?.every((line) => line !== undefined) && <Line name="adit api" text={adit.join('\n')} />}
      <Line name="curl" text={calls.map((call) => formatCurl(call, origin)).join('\n')} />
    </details>
  )
}

function Line({ name, text }: { name: string; text: string }) {
  return (
    <div className="equivalent-line">
      <header>
        <span>{name}</span>
        <CopyButton text={text} />
      </header>
      <ScrollRegion label={`The same with ${name}`}>
        <pre>
          <ShellText text={text} />
        </pre>
      </ScrollRegion>
    </div>
  )
}
