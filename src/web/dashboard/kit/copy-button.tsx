import { useState } from 'react'
import { Button } from './button.tsx'

/** Copies a text and says that it did. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  const copy = async () => {
    try {
      await copyText(text)
      setState('done')
    } catch {
      setState('failed')
    }
    setTimeout(() => setState('idle'), 2000)
  }
  return (
    <Button onClick={() => void copy()}>
      <span aria-live="polite">
        {state === 'done' ? 'Copied' : state === 'failed' ? 'Select and copy it by hand' : label}
      </span>
    </Button>
  )
}

async function copyText(text: string): Promise<void> {
  // Only pages with a secure context have a clipboard; over plain HTTP the old way still works.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  // Inside an open dialog everything else is inert.
  const container = document.querySelector('dialog[open]') ?? document.body
  container.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('The browser does not let this page copy.')
}

/** A secret that is shown this one time. */
export function OneTimeSecret({ label, value }: { label: string; value: string }) {
  return (
    <div className="shown-once">
      <p>
        <strong>{label}</strong> Copy it now: it is not kept in readable form and is never shown again.
      </p>
      <div className="shown-once-value">
        <code>{value}</code>
        <CopyButton text={value} />
      </div>
    </div>
  )
}
