import { type ComponentProps, type ReactNode, useId } from 'react'

/** The props that connect a control with its label, hint and error. */
export interface ControlProps {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
  readonly required: boolean
}

/** A form field: label, control, error and hint. */
export function Field({
  label,
  hint,
  error,
  required = false,
  children,
}: {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  required?: boolean
  children: (control: ControlProps) => ReactNode
}) {
  const id = useId()
  const describedBy = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className={error ? 'field wrong' : 'field'}>
      <label htmlFor={id} className={required ? 'required' : undefined}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': describedBy || undefined,
        'aria-invalid': error ? true : undefined,
        required,
      })}
      {error && (
        <p className="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** A labelled single-line text input. */
export function TextField({
  label,
  hint,
  error,
  required,
  value,
  onValue,
  ...input
}: Omit<ComponentProps<'input'>, 'value' | 'onChange'> & {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  required?: boolean
  value: string
  onValue: (value: string) => void
}) {
  return (
    <Field label={label} hint={hint} error={error} required={required ?? false}>
      {(control) => (
        <input
          autoComplete="off"
          dir="auto"
          {...input}
          {...control}
          value={value}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  )
}

/** A labelled switch. */
export function Switch({
  label,
  hint,
  error,
  checked,
  disabled = false,
  onChecked,
}: {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  checked: boolean
  disabled?: boolean
  onChecked: (checked: boolean) => void
}) {
  const id = useId()
  return (
    <div className="field switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        checked={checked}
        aria-checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChecked(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {error && <p className="field-error">{error}</p>}
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** The search field of a page; the key `/` focuses it. */
export function Search({
  label,
  value,
  onValue,
}: {
  label: string
  value: string
  onValue: (value: string) => void
}) {
  return (
    <input
      type="search"
      className="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onValue(event.target.value)}
    />
  )
}
