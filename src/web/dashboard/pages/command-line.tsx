import { CopyButton, ShellText } from '../kit/index.ts'
import './command-line.css'

/** A shell command with a copy button. */
export function CommandLine({ text, label }: { text: string; label?: string }) {
  return (
    <div className="command-line">
      <code>
        <ShellText text={text} />
      </code>
      <CopyButton text={text} {...(label !== undefined && { label })} />
    </div>
  )
}
