/** A decorative icon, hidden from assistive technology: strokes on a 16 by 16 grid. */
export function StrokeIcon({ path }: { path: string | undefined }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}
