import { PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useTranslation } from "react-i18next";

interface Props extends Omit<PasswordInputProps, "onChange" | "value"> {
  value: string;
  onValue: (value: string) => void;
}

export function PasswordField({ onValue, ...field }: Props) {
  const { t } = useTranslation();
  return (
    <PasswordInput
      required
      withAsterisk={false}
      visibilityToggleButtonProps={{ "aria-label": t("password.show") }}
      onChange={(event) => onValue(event.currentTarget.value)}
      {...field}
    />
  );
}
