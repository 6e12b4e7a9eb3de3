/** The name with its sign: a stack, the top of it lit. */
export function Wordmark() {
  return (
    <>
      <svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
        <rect width="24" height="24" rx="6" fill="#0f766e" />
        <g fill="#fff">
          <rect x="5" y="5.5" width="14" height="3.4" rx="1" />
          <rect x="5" y="10.3" width="14" height="3.4" rx="1" opacity=".6" />
          <rect x="5" y="15.1" width="14" height="3.4" rx="1" opacity=".35" />
        </g>
      </svg>
      <span>gpustack-lite</span>
    </>
  );
}
