import { useState } from 'react'
import { Button } from './button.tsx'

/** Copies a text and confirms it. */
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
        {state === 'done' ? 'Copied' : state === 'failed' ? 'Copy manually' : label}
      </span>
    </Button>
  )
}

async function copyText(text: string): Promise<void> {
  // The clipboard API needs a secure context; over plain HTTP execCommand still works.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  // Everything outside an open modal dialog is inert.
  const container = document.querySelector('dialog[open]') ?? document.body
  container.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (!copied) throw new Error('The browser denied access to the clipboard.')
}

/** A secret, displayed only once. */
export function OneTimeSecret({ label, value }: { label: string; value: string }) {
  return (
    <div className="one-time-secret">
      <p>
        <strong>{label}</strong> Copy it now: it is not stored in readable form and is never shown again.
      </p>
      <div className="one-time-secret-value">
        <code>{value}</code>
        <CopyButton text={value} />
      </div>
    </div>
  )
}
